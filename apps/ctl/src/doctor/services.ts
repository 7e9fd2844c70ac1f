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
  return wrong('queue', found, 'See why with `ctl queue dead`, mend the cause, then `ctl queue replay`.');
}

/** Whether a runner acts in each pool that has models. Times are those of Postgres' clock. */
export async function runnerFinding(db: Db): Promise<Finding> {
  const leases = await db.$queryRaw<{ pool: string; holder: string; late: number }[]>`
    SELECT pool, holder, extract(epoch FROM now() - expires_at)::float8 AS late FROM runner_lease ORDER BY pool`;
  const acting = leases.filter(({ late }) => late <= 0);
  const models = await db.model.count({ where: { deletedAt: null } });
  const gone = leases
    .filter(({ late }) => late > 0)
    .map(
      ({ pool, holder, late }) => `none acts in pool ${pool} since ${Math.floor(late)} s (last: ${holder})`,
    );
  if (models === 0 || (acting.length > 0 && gone.length === 0))
    return fine(
      'runners',
      acting.map(({ pool, holder }) => `${holder} acts in pool ${pool}`).join('; ') || 'none',
    );
  return wrong(
    'runners',
    gone.length > 0 ? some(gone) : 'no runner has ever acted',
    'Models neither wake nor sleep there. Start a runner, and read its log. A pool that is no more: delete its row in runner_lease.',
  );
}
