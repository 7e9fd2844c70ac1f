import { PAGE_KEYS } from '@tidegate/contracts';
import { NOTHING, type Sql, sql } from '../sql.ts';

/** A condition on a column that holds key ids. Null: all keys. `PAGE_KEYS`: all page keys. */
export function ofKey(keyId: string | null, column: Sql = sql`key_id`): Sql {
  if (keyId === null) return NOTHING;
  return keyId === PAGE_KEYS
    ? sql`AND starts_with(${column}, ${`${PAGE_KEYS}_`})`
    : sql`AND ${column} = ${keyId}`;
}

/** A column that holds key ids, with one id in place of those of all page keys. */
export const oneOfPages = (column: Sql): Sql =>
  sql`CASE WHEN starts_with(${column}, ${`${PAGE_KEYS}_`}) THEN ${PAGE_KEYS} ELSE ${column} END`;
