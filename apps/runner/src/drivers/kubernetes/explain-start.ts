import type { KubernetesSettings } from '@tidegate/contracts/driver-settings';
import type { KubernetesApi } from './api.ts';
import { describeApiError } from './errors.ts';
import { eventProblemOf, type PodProblem, podFailureOf, podProblemOf } from './pods.ts';
import { countOf } from './scale.ts';

export interface NotReady extends PodProblem {
  /** Its count is 0. */
  readonly off: boolean;
}

/**
 * Why a workload that is switched on has no replica to call. Never rejects.
 *
 * @param endpointsProblem what is wrong with its endpoints; empty: nothing
 * @param thorough also ask for events, which cost more
 */
export async function whyNotReady(
  { api, settings }: { api: KubernetesApi; settings: KubernetesSettings },
  endpointsProblem: string,
  thorough: boolean,
  signal: AbortSignal,
): Promise<NotReady> {
  const { namespace, name } = settings;
  try {
    const scale = await api.scale(settings, signal);
    const { status } = scale;
    if (countOf(scale) === 0) return { reason: '', lasting: false, off: true };
    const selector = status?.selector;
    const pods = selector ? await api.livePods(namespace, selector, signal) : [];
    const problem = podProblemOf(pods);
    if (problem) return { ...problem, off: false };
    if (endpointsProblem !== '') return { reason: endpointsProblem, lasting: true, off: false };
    const [pod] = pods;
    const about = pod ? `involvedObject.name=${pod.metadata?.name ?? ''}` : 'reason=FailedCreate';
    const events = thorough ? await api.warnings(namespace, about, signal) : [];
    const own = events.filter(({ involvedObject }) => createsPodsFor(name, involvedObject.name ?? ''));
    const told = eventProblemOf(pod ? events : own);
    if (told) return { ...told, off: false };
    if (pod) return { reason: 'None of its pods is ready.', lasting: false, usual: true, off: false };
    const [failed] = selector ? await api.failedPods(namespace, selector, signal) : [];
    const reason = failed ? podFailureOf(failed) : 'It has no pod yet.';
    return { reason, lasting: false, usual: false, off: false };
  } catch (error) {
    return { reason: describeApiError(error, settings), lasting: false, off: false };
  }
}

/**
 * Whether an object with that name creates the workload's pods: a StatefulSet itself, or a
 * ReplicaSet of a Deployment, which has a hash without a dash after the Deployment's name.
 */
const createsPodsFor = (workload: string, name: string): boolean =>
  name === workload || (name.startsWith(`${workload}-`) && !name.slice(workload.length + 1).includes('-'));
