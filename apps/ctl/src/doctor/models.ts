import { open } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import { type Finding, fine, some, warn, wrong } from './report.ts';

/** Whether the upstream keys of published models open under one of the secret keys. */
export async function upstreamKeyFinding(db: Db, secretKeys: readonly Uint8Array[]): Promise<Finding> {
  const models = await db.model.findMany({
    where: { deletedAt: null, upstreamKey: { not: null } },
    select: { name: true, upstreamKey: true, org: { select: { slug: true } } },
    orderBy: { id: 'asc' },
  });
  const shut = models.filter(({ upstreamKey }) => upstreamKey && open(secretKeys, upstreamKey) === null);
  if (shut.length === 0) return fine('upstream keys', `${models.length} upstream keys open with SECRET_KEY`);
  return wrong(
    'upstream keys',
    `these do not open: ${some(shut.map(({ org, name }) => `${org.slug}: ${name}`))}`,
    'They were sealed under another key. Run `ctl secrets reseal` with that one as SECRET_KEY_PREVIOUS, or set the keys again: `ctl model set --upstream-key-stdin`.',
  );
}

/** Models that have failed. Their servers are not Tidegate's, so this is no fault of it. */
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
    'See `ctl model show`, and docs/models.md for what the reasons mean.',
  );
}
