import type { StoredDriver } from '@tidegate/contracts/driver-settings';
import type { Actor } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { refuse } from '../result.ts';
import { unreached } from '../unreached.ts';

/**
 * Why a workload of Kubernetes cannot be published by this actor. Null: it can, or it is none.
 *
 * A workload has one model, because models are put to sleep one by one.
 */
export async function unfitWorkload(
  deps: ControlDeps,
  actor: Actor,
  runs: StoredDriver,
  pool: string,
): Promise<ReturnType<typeof refuse> | null> {
  if (runs.driver !== 'kubernetes') return null;
  // It is scaled with the runner's rights. An organization's owner has none in the cluster.
  if (actor.kind !== 'operator') {
    const message = 'Only an operator of the installation may publish a workload of Kubernetes.';
    return refuse('forbidden', message, 'kubernetes');
  }
  const { namespace, kind, name } = runs.settings;
  const other = await deps.db.model.findFirst({
    where: {
      driver: 'kubernetes',
      deletedAt: null,
      AND: Object.entries({ namespace, kind, name }).map(([key, equals]) => ({
        settings: { path: [key], equals },
      })),
    },
    select: { name: true },
  });
  if (other) {
    const message = `The ${kind} ${namespace}/${name} is already published, as "${other.name}". Publish its Service by URL.`;
    return refuse('conflict', message, 'kubernetes');
  }
  try {
    const problem = await deps.runner.checkWorkload(runs.settings, pool);
    return problem === '' ? null : refuse('invalid_input', problem, 'kubernetes');
  } catch (error) {
    const why = unreached('runner', error, actor);
    return refuse('unavailable', `It is not published, because it cannot be checked: ${why}.`, 'kubernetes');
  }
}
