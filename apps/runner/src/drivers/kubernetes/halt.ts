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
 * what `awaitEnd` and `isTaken` throw.
 */
export const haltWorkload = (options: WorkloadOptions, isTaken: IsTaken): Promise<void> =>
  awaitEnd(options, isTaken, options.api.lost);

/**
 * Waits until all pods of a workload that is off have ended: until then they hold their GPU, though
 * the workload no longer counts them. The pods of a deleted workload end, too. They are waited for
 * if the workload was seen before.
 *
 * Pods that are still there long after their grace period are given up, with a warning: as a rule
 * their node is lost, and Kubernetes keeps them until someone removes the node. Pods of a deleted
 * workload that are not told to end are given up as well: someone wants to keep them, or they
 * belong to another workload.
 *
 * @param isTaken null: the workload is off. Otherwise it is switched off first, unless it is taken.
 * @throws Error when the pods are not told to end, or when someone switches the workload on
 * meanwhile; `ApiError` when calls to Kubernetes keep failing
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
      // Whoever switches it on later may be another model's runner. This must not undo that.
      if (scale !== 'deleted') unless = null;
      const pods = await podsOf(api, settings, signal);
      failures = 0;
      if (pods.length === 0) return;
      const untold = pods.filter(({ metadata }) => !metadata?.deletionTimestamp);
      // The pods of a StatefulSet end one after another.
      if (pods.length + untold.length < leastLeft) progressMs = nowMs();
      leastLeft = Math.min(leastLeft, pods.length + untold.length);
      if (nowMs() - progressMs >= timings.scaleDownMs + longestGraceMs(pods)) {
        if (untold.length > 0 && scale !== 'deleted')
          throw new Error('it was scaled to 0, but some of its pods have not been told to end');
        logger.warn(
          { pods: pods.length },
          'pods are still there after their grace period: giving up on them',
        );
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
    if (scale && countOf(scale) > 0) throw new Error('someone scaled it up while its pods were ending');
    return scale ?? 'taken';
  } catch (error) {
    if (isAbsent(error)) return 'deleted';
    throw error;
  }
}

/**
 * A workload's pods that have not ended, including those that are ending. None are known for a
 * workload that was never seen.
 *
 * @throws ApiError
 */
export async function podsOf(api: KubernetesApi, workload: Workload, signal: AbortSignal): Promise<V1Pod[]> {
  const selector = api.selectorOf(workload);
  return selector ? api.livePods(workload.namespace, selector, signal) : [];
}

const longestGraceMs = (pods: readonly V1Pod[]): number =>
  Math.max(...pods.map(({ metadata }) => (metadata?.deletionGracePeriodSeconds ?? 0) * 1_000));
