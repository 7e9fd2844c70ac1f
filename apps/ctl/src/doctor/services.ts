import { type Db, postgresTooOld } from '@tidegate/db';
import { redisTooOld } from '@tidegate/redis';
import type { QueueStatus } from '../queue-admin.ts';
import { type Finding, fine, some, wrong } from './report.ts';

/** Whether the server is new enough, and not everybody can create objects in the schema. */
export async function postgresFinding(db: Db): Promise<Finding> {
  const [server] = await db.$queryRaw<{ version: string; schema: string; open: boolean }[]>`
    SELECT current_setting('server_version') AS version, current_schema() AS schema,
      has_schema_privilege('public', current_schema(), 'CREATE') AS open`;
  const { version = '', schema = '', open } = server ?? {};
  const tooOld = postgresTooOld(version);
  if (tooOld !== null) return wrong('postgres', tooOld, 'Upgrade Postgres.');
  if (!open) return fine('postgres', `version ${version}`);
  return wrong(
    'postgres',
    `everybody may make functions in the schema ${schema}, and so a service could act as the owner of the database`,
    'Close the schema: see docs/accounts.md.',
  );
}

/** Whether a server is new enough, by what it says about itself. */
export function redisFinding(info: string): Finding {
  const tooOld = redisTooOld(info);
  if (tooOld === null) return fine('redis', 'its version is new enough');
  return wrong('redis', tooOld, 'Upgrade Redis.');
}

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
