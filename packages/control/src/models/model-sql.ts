import { NOTHING, type Sql, sql } from '../sql.ts';

/** A condition on a column that holds model ids. Null: all models. */
export const ofModel = (modelId: string | null, column: Sql = sql`model_id`): Sql =>
  modelId === null ? NOTHING : sql`AND ${column} = ${modelId}`;
