import { unseal } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import { type Finding, fine, some, warn, wrong } from './report.ts';

/** Whether the upstream keys of published models open under one of the secret keys. */
export async function upstreamKeyFinding(db: Db, secretKeys: readonly Uint8Array[]): Promise<Finding> {
  const models = await db.model.findMany({
    where: { deletedAt: null, upstreamKey: { not: null } },
    select: { name: true, upstreamKey: true, org: { select: { slug: true } } },
    orderBy: { id: 'asc' },
  });
  const shut = models.filter(({ upstreamKey }) => upstreamKey && unseal(secretKeys, upstreamKey) === null);
  if (shut.length === 0)
    return fine('upstream keys', `${models.length} upstream keys can be unsealed with SECRET_KEY`);
  return wrong(
    'upstream keys',
    `these cannot be unsealed: ${some(shut.map(({ org, name }) => `${org.slug}: ${name}`))}`,
    'They were sealed under another key. Run `ctl secrets reseal` with that key as SECRET_KEY_PREVIOUS, or set the keys again: `ctl model set --upstream-key-stdin`.',
  );
}

/** A runner ends them within seconds, unless it is unavailable or may not. */
const LEFT_FOR = '10 minutes';

/** Workloads of deleted models that still run, although nobody calls them. */
export async function leftWorkloadFinding(db: Db): Promise<Finding> {
  const left = await db.$queryRaw<{ pool: string; workload: string; since: string }[]>`
    SELECT pool, concat_ws('/', settings->>'namespace', settings->>'kind', settings->>'name') AS workload,
      to_char(left_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') AS since
    FROM left_workload WHERE left_at < now() - ${LEFT_FOR}::interval ORDER BY left_at, model_id`;
  if (left.length === 0) return fine('left workloads', 'those of deleted models are scaled down');
  return warn(
    'left workloads',
    `not scaled down: ${some(left.map(({ pool, workload, since }) => `${workload} (pool ${pool}, since ${since} UTC)`))}`,
    "Their models are deleted, so nothing calls them. The log of the pool's runner says why it cannot scale them down.",
  );
}

/** Models that have failed. A warning only, because their servers are not part of Tidegate. */
export async function modelFinding(db: Db): Promise<Finding> {
  const failed = await db.model.findMany({
    where: { deletedAt: null, condition: 'failed' },
    select: { name: true, conditionReason: true, org: { select: { slug: true } } },
    orderBy: { id: 'asc' },
  });
  if (failed.length === 0) return fine('models', 'none has failed');
  // Below the first line is what its process printed.
  const why = (reason: string | null) => (reason ?? '').split('\n', 1)[0];
  return warn(
    'models',
    `failed: ${some(failed.map(({ org, name, conditionReason }) => `${org.slug}: ${name} (${why(conditionReason)})`))}`,
    'See `ctl model show` for the whole reason. docs/models.md explains probes and failures.',
  );
}
