import type { Db } from '@tidegate/db';
import { eventually } from './eventually.ts';

/** How many sessions of the database wait for a lock. `db` must have a free connection. */
export async function waitingForLocks(db: Db): Promise<number> {
  const waiting = await db.$queryRaw<unknown[]>`
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  return waiting.length;
}

/** Resolves when a session of the database waits for a lock. */
export const untilOneWaitsForALock = (db: Db): Promise<unknown> =>
  eventually(async () => (await waitingForLocks(db)) > 0);
