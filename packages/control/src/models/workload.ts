import type { StoredDriver } from '@tidegate/contracts/driver-settings';
import type { Actor } from '../access/access.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { refuse } from '../result.ts';
import { unreached } from '../unreached.ts';

/**
 * Why a Kubernetes workload cannot be published by this actor. Null: it can, or the model is not a
 * workload.
 *
 * @param anyway whether to ignore a problem that may pass, or one with the check itself
 */
export async function unfitWorkload(
  deps: ControlDeps,
  actor: Actor,
  runs: StoredDriver,
  pool: string,
  anyway: boolean,
): Promise<ReturnType<typeof refuse> | null> {
  if (runs.driver !== 'kubernetes') return null;
  // It is scaled with the runner's rights. An organization's owner has none in the cluster.
  if (actor.kind !== 'operator') {
    const message = 'Only an operator of the installation may publish a Kubernetes workload.';
    return refuse('forbidden', message, 'kubernetes');
  }
  try {
    const { problem, impossible } = await deps.runner.checkWorkload(runs.settings, pool);
    if (problem === '' || (anyway && !impossible)) return null;
    return refuse('invalid_input', impossible ? problem : `${problem} ${ANYWAY}`, 'kubernetes');
  } catch (error) {
    if (anyway) return null;
    const why = unreached('runner', error, actor);
    const message = `It is not published, because it cannot be checked: ${why}. ${ANYWAY}`;
    return refuse('unavailable', message, 'kubernetes');
  }
}

const ANYWAY = 'It can be published anyway.';

/**
 * Refuses a workload that is already published. Null: it is not, or the model is not a workload. A
 * workload can be only one model, because models are put to sleep one by one. Until the transaction
 * ends, no one else can publish it.
 */
export async function refuseTaken(tx: Tx, runs: StoredDriver): Promise<ReturnType<typeof refuse> | null> {
  if (runs.driver !== 'kubernetes') return null;
  const { namespace, kind, name } = runs.settings;
  const lock = `workload ${namespace}/${kind}/${name}`;
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))::text`;
  const other = await tx.model.findFirst({
    where: {
      driver: 'kubernetes',
      deletedAt: null,
      AND: Object.entries({ namespace, kind, name }).map(([key, equals]) => ({
        settings: { path: [key], equals },
      })),
    },
    select: { name: true },
  });
  if (!other) return null;
  const message = `The ${kind} ${namespace}/${name} is already published, as "${other.name}". Publish its Service by URL.`;
  return refuse('conflict', message, 'kubernetes');
}
