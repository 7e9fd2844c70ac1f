import { NOTHING, type Sql, sql } from '../sql.ts';

/** A condition on a column that holds model ids. Null: all models. */
export const ofModel = (modelId: string | null, column: Sql = sql`model_id`): Sql =>
  modelId === null ? NOTHING : sql`AND ${column} = ${modelId}`;

interface Named {
  readonly name: string;
  readonly deletedAt: Date | null;
}

/** What to call a model. Without a row it is called by its id. */
export const modelNameOf = (modelId: string, row: Named | undefined) => ({
  modelId,
  model: row?.name ?? modelId,
  modelDeleted: !row || row.deletedAt !== null,
});
