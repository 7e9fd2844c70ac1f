import type { Db } from '@tidegate/db';
import type { QueueStatus } from '../queue-admin.ts';
import { type Finding, fine, some, wrong } from './report.ts';

export function schemaFinding(missing: readonly string[]): Finding {
  if (missing.length === 0) return fine('schema', 'the database has all migrations of this release');
  return wrong('schema', `the database lacks ${some(missing)}`, 'Run migrate: see docs/upgrades.md.');
}

export function queueFinding({ waiting, active, delayed, dead }: QueueStatus): Finding {
  const found = `${waiting + active} batches of settlements under way, ${delayed} to be tried again, ${dead} dead`;
  if (dead === 0) return fine('queue', found);
  return wrong('queue', found, 'See why with `ctl queue dead`, fix the cause, then `ctl queue replay`.');
}

/** Whether each pool that has models has a leader. Times are those of Postgres' clock. */
export async function runnerFinding(db: Db): Promise<Finding> {
  const pools = await db.$queryRaw<{ pool: string; late: number | null }[]>`
    SELECT pool, extract(epoch FROM now() - expires_at)::float8 AS late
    FROM (SELECT DISTINCT pool FROM model WHERE deleted_at IS NULL) AS used LEFT JOIN runner_lease USING (pool)
    ORDER BY pool`;
  const gone = pools.filter(({ late }) => late === null || late > 0);
  if (gone.length === 0) return fine('runners', `each pool that has models has a leader: ${pools.length}`);
  return wrong(
    'runners',
    some(
      gone.map(({ pool, late }) =>
        late === null
          ? `pool ${pool} has never had a leader`
          : `pool ${pool} has had no leader for ${Math.floor(late)} s`,
      ),
    ),
    'Models there neither wake nor sleep. Start a runner of that pool, and read its log.',
  );
}
