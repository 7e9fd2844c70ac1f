/** Migrations define functions in a form that Postgres 13 does not know. */
const OLDEST = 14;

/** What `current_setting('server_version')` says, and what is wrong with it. Null: nothing. */
export function postgresTooOld(version: string): string | null {
  if (Number.parseInt(version, 10) >= OLDEST) return null;
  return `Postgres ${version.split(' ')[0]} is too old: Tidegate needs version ${OLDEST} or newer`;
}
