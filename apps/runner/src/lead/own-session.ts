import type pg from 'pg';

/** "tidegate" as a number. In each database, one session can hold this lock. */
export const LOCK = '8388346167643173989';

/** Why a runner does not lead, and what to do. */
export const POOLED =
  'this runner cannot lead: DATABASE_URL leads through a pooler that hands a session from one client to the next, as PgBouncer ' +
  'does with pool_mode = transaction, and then several runners could lead at once. Connect the runner directly to Postgres, or ' +
  'with pool_mode = session';

/** Whether the session that runs this holds the lock. */
const HELD = `EXISTS (
  SELECT FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid() AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32 | objid::bigint) = ${LOCK})`;

/**
 * One statement, so that it runs in one session. `shared`: somebody else has taken the lock in this
 * session, where it excludes nobody.
 */
const TAKE = `SELECT CASE
  WHEN ${HELD} THEN 'shared' WHEN pg_try_advisory_lock(${LOCK}) THEN 'taken' ELSE 'held' END AS lead`;

export async function tryAdvisoryLock(client: pg.Client): Promise<'taken' | 'held' | 'shared'> {
  const { rows } = await client.query<{ lead: 'taken' | 'held' | 'shared' }>(TAKE);
  return rows[0]?.lead ?? 'held';
}

export interface SessionNow {
  readonly pid: number;
  readonly held: boolean;
}

/** The session that this connection's statements run in now, and whether it has the lock. */
export async function sessionOf(client: pg.Client): Promise<SessionNow> {
  const { rows } = await client.query<SessionNow>(`SELECT pg_backend_pid() AS pid, ${HELD} AS held`);
  return rows[0] ?? { pid: 0, held: false };
}

const ROUNDS = 3;

/**
 * Whether the connection has a session of its own. While another connection is in a transaction, a
 * pooler that shares sessions gives it this connection's session, or gives this connection a new
 * one.
 */
export async function hasOwnSession(client: pg.Client, witness: pg.Client): Promise<boolean> {
  const { pid } = await sessionOf(client);
  for (let round = 0; round < ROUNDS; round++) {
    await witness.query('BEGIN');
    // This is compared first. With a single session, the other connection would wait for the end of
    // this transaction.
    if ((await sessionOf(witness)).pid === pid) return false;
    if ((await sessionOf(client)).pid !== pid) return false;
    await witness.query('COMMIT');
  }
  return true;
}
