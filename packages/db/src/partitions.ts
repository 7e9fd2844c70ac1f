import type { Db } from './client.ts';

/** An arbitrary number. Only one process at a time creates or drops partitions. */
const PARTITION_LOCK = 72707370;
/**
 * How long dropping a partition waits for its lock. Writers queue behind it meanwhile. The next
 * call tries again.
 */
const DROP_LOCK_TIMEOUT_MS = 2_000;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const PARTITION = /^request_(\d{4})(\d{2})(\d{2})$/;

/**
 * Creates the partitions of `request` that rows of `days` need. Postgres refuses a row for a day
 * without a partition. It is cheap when all exist, safe with concurrent callers, and blocks no
 * writer.
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
 * Drops the partitions of `request` for all days before `beforeDay`.
 *
 * @param beforeDay UTC, `YYYY-MM-DD`; the first day to keep
 * @returns the dropped days, oldest first
 * @throws when a reader of `request` holds it for more than 2 s; the next call continues
 */
export async function dropOldRequestPartitions(db: Db, beforeDay: string): Promise<string[]> {
  assertDay(beforeDay);
  const old = (await listRequestPartitions(db)).filter((day) => day < beforeDay);
  for (const day of old) {
    await db.$transaction([
      db.$executeRaw`SELECT pg_advisory_xact_lock(${PARTITION_LOCK})`,
      db.$executeRawUnsafe(`SET LOCAL lock_timeout = ${DROP_LOCK_TIMEOUT_MS}`),
      db.$executeRawUnsafe(`DROP TABLE IF EXISTS ${tableOf(day)}`),
    ]);
  }
  return old;
}

/** Lists the days that `request` has partitions for, oldest first. */
export async function listRequestPartitions(db: Db): Promise<string[]> {
  const rows = await db.$queryRaw<{ name: string }[]>`
    SELECT c.relname::text AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'request'::regclass`;
  const names = rows.map(({ name }) => PARTITION.exec(name)).filter((match) => match !== null);
  return names.map(([, year, month, day]) => `${year}-${month}-${day}`).sort();
}

/**
 * Creates a table and then attaches it. Unlike creating the partition in place, this locks
 * `request` against no reader or writer.
 * @returns false if another caller has created it meanwhile
 */
async function create(db: Db, day: string): Promise<boolean> {
  const table = tableOf(day);
  return db.$transaction(async (tx) => {
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(${PARTITION_LOCK})`;
    const rows = await tx.$queryRaw<
      { exists: boolean }[]
    >`SELECT to_regclass(${table}) IS NOT NULL AS exists`;
    if (rows[0]?.exists === true) return false;
    await tx.$executeRawUnsafe(`CREATE TABLE ${table} (LIKE request INCLUDING ALL)`);
    await tx.$executeRawUnsafe(
      `ALTER TABLE request ATTACH PARTITION ${table} FOR VALUES FROM ('${day}') TO ('${dayAfter(day)}')`,
    );
    return true;
  });
}

const tableOf = (day: string): string => `request_${day.replaceAll('-', '')}`;

function dayAfter(day: string): string {
  const next = new Date(`${day}T00:00:00Z`);
  next.setUTCDate(next.getUTCDate() + 1);
  return next.toISOString().slice(0, 10);
}

/** Accepts only real dates, because days become part of SQL. */
function assertDay(day: string): void {
  const real = DAY.test(day) && !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day);
  if (!real) throw new RangeError(`not a day (YYYY-MM-DD): ${JSON.stringify(day)}`);
}
