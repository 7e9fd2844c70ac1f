import type { V1Pod, V1Scale } from '@kubernetes/client-node';
import { doubledMs, jittered, pause } from '../../pause.ts';
import type { IsTaken } from '../driver.ts';
import { ApiError, type KubernetesApi, type Workload } from './api.ts';
import { isAbsent } from './errors.ts';
import { countOf, switchOff } from './scale.ts';
import type { WorkloadOptions } from './workload-options.ts';

/** Failures in a row. */
const MAX_FAILURES = 3;

/**
 * Switches a workload off, unless it is taken, and waits until all of its pods have ended. Throws
 * as `awaitEnd` does, and what `isTaken` throws.
 */
export const haltWorkload = (options: WorkloadOptions, isTaken: IsTaken): Promise<void> =>
  awaitEnd(options, isTaken, options.api.lost);

/**
 * Waits until all pods of a workload that is off have ended: until then they have their GPU, though
 * no count of the workload has them any more. The pods of a workload that was deleted end, too, and
 * are waited for if the workload was seen before.
 *
 * Pods that are still there long after their grace period are given up, with a warning: as a rule
 * their node is lost, and Kubernetes keeps them until somebody removes it. Pods of a deleted
 * workload that nobody tells to end are given up as well: somebody wants to keep them, or they are
 * another workload's.
 *
 * @param isTaken null: the workload is off. Otherwise it is switched off first, unless it is taken.
 * @throws Error when nobody tells the pods to end, or when somebody switches the workload on
 * meanwhile; `ApiError` when Kubernetes cannot be asked
 */
export async function awaitEnd(
  { api, settings, timings, nowMs, random, logger }: WorkloadOptions,
  isTaken: IsTaken | null,
  signal: AbortSignal,
): Promise<void> {
  let unless = isTaken;
  let progressMs = nowMs();
  let leastLeft = Number.POSITIVE_INFINITY;
  let failures = 0;
  for (let looks = 1; ; looks++) {
    try {
      const scale = await offScale(api, settings, unless, signal);
      if (scale === 'taken') return;
      // Whoever switches it on later may be another model's runner, which this must not undo.
      if (scale !== 'deleted') unless = null;
      const pods = await podsOf(api, settings, signal);
      failures = 0;
      if (pods.length === 0) return;
      const untold = pods.filter(({ metadata }) => !metadata?.deletionTimestamp);
      // Those of a StatefulSet end one after another.
      if (pods.length + untold.length < leastLeft) progressMs = nowMs();
      leastLeft = Math.min(leastLeft, pods.length + untold.length);
      if (nowMs() - progressMs >= timings.scaleDownMs + longestGraceMs(pods)) {
        if (untold.length > 0 && scale !== 'deleted')
          throw new Error('it was scaled to 0 and still has pods that nobody has told to end');
        logger.warn({ pods: pods.length }, 'pods are still there after their grace period: given up');
        return;
      }
    } catch (error) {
      if (!(error instanceof ApiError) || ++failures >= MAX_FAILURES) throw error;
    }
    const pauseMs = doubledMs(looks, timings.apiRetryMs, timings.podPollMs);
    await pause(jittered(pauseMs, random), signal);
  }
}

/** Throws as `awaitEnd` does. */
async function offScale(
  api: KubernetesApi,
  workload: Workload,
  isTaken: IsTaken | null,
  signal: AbortSignal,
): Promise<V1Scale | 'taken' | 'deleted'> {
  try {
    const scale = isTaken
      ? await switchOff(api, workload, isTaken, signal)
      : await api.scale(workload, signal);
    if (scale && countOf(scale) > 0) throw new Error('somebody switched it on while its pods were ending');
    return scale ?? 'taken';
  } catch (error) {
    if (isAbsent(error)) return 'deleted';
    throw error;
  }
}

/**
 * A workload's pods that have not ended, with those that are ending. None are known of a workload
 * that was never seen.
 *
 * @throws ApiError
 */
export async function podsOf(api: KubernetesApi, workload: Workload, signal: AbortSignal): Promise<V1Pod[]> {
  const selector = api.selectorOf(workload);
  const pods = selector ? await api.pods(workload.namespace, selector, signal) : [];
  return pods.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
}

const longestGraceMs = (pods: readonly V1Pod[]): number =>
  Math.max(...pods.map(({ metadata }) => (metadata?.deletionGracePeriodSeconds ?? 0) * 1_000));
