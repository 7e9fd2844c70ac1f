/** Migrations define functions as Postgres 13 cannot. */
const OLDEST = 14;

/** What `current_setting('server_version')` says, and what is wrong with it. Null: nothing. */
export function postgresTooOld(version: string): string | null {
  if (Number.parseInt(version, 10) >= OLDEST) return null;
  return `Postgres ${version.split(' ')[0]} is too old: Tidegate needs version ${OLDEST} or newer`;
}
