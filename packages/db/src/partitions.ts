import type { Db } from './client.ts';

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const PARTITION = /^request_(\d{4})(\d{2})(\d{2})$/;

/**
 * Creates the partitions of `request` that rows of `days` need. Postgres refuses a row for a day
 * without a partition. A call is cheap when all of them exist, safe with concurrent callers, and
 * blocks no writer.
 *
 * @param days UTC, `YYYY-MM-DD`
 * @returns the days whose partitions were created here, oldest first
 */
export async function ensureRequestPartitions(db: Db, days: Iterable<string>): Promise<string[]> {
  const wanted = [...new Set(days)].sort();
  wanted.forEach(assertDay);
  const existing = new Set(await listRequestPartitions(db));
  const missing = wanted.filter((day) => !existing.has(day));
  const made: string[] = [];
  for (const day of missing) if (await create(db, day)) made.push(day);
  return made;
}

/**
 * Drops the partitions of `request` for all days before `beforeDay`. Those of the last 31 days by
 * Postgres' clock stay.
 *
 * @param beforeDay UTC, `YYYY-MM-DD`; the first day to keep
 * @returns the dropped days, oldest first
 * @throws when a reader of `request`, such as a dump, holds it for more than 200 ms (55P03); the
 * next call continues
 */
export async function dropOldRequestPartitions(db: Db, beforeDay: string): Promise<string[]> {
  assertDay(beforeDay);
  const old = (await listRequestPartitions(db)).filter((day) => day < beforeDay);
  const dropped: string[] = [];
  for (const day of old) if (await drop(db, day)) dropped.push(day);
  return dropped;
}

/** Lists the days that `request` has partitions for, oldest first. */
export async function listRequestPartitions(db: Db): Promise<string[]> {
  const rows = await db.$queryRaw<{ name: string }[]>`
    SELECT c.relname::text AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'request'::regclass`;
  const names = rows.map(({ name }) => PARTITION.exec(name)).filter((match) => match !== null);
  return names.map(([, year, month, day]) => `${year}-${month}-${day}`).sort();
}

/*
 * Metering owns no table. The SQL functions called here run as the owner, and a migration defines
 * them. Each returns false if there was nothing to do.
 */

async function create(db: Db, day: string): Promise<boolean> {
  const [made] = await db.$queryRaw<Done[]>`SELECT create_request_partition(${day}::date) AS done`;
  return made?.done === true;
}

async function drop(db: Db, day: string): Promise<boolean> {
  const [dropped] = await db.$queryRaw<Done[]>`SELECT drop_request_partition(${day}::date) AS done`;
  return dropped?.done === true;
}

interface Done {
  readonly done: boolean;
}

/** Accepts only real dates. */
function assertDay(day: string): void {
  const real = DAY.test(day) && !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day);
  if (!real) throw new RangeError(`not a day (YYYY-MM-DD): ${JSON.stringify(day)}`);
}
