import type { KubernetesSettings } from '@tidegate/contracts/driver-settings';
import type { KubernetesApi } from './api.ts';
import { describeApiError, isAbsent, titleOf } from './errors.ts';

/** What the runner may do in Kubernetes. */
export interface Kubernetes {
  readonly api: KubernetesApi;
  /** The only namespaces whose workloads may be models. */
  readonly namespaces: ReadonlySet<string>;
}

export const NOT_CONFIGURED = 'This runner runs no models in Kubernetes: RUNNER_KUBERNETES is not set.';

/** Why this runner cannot run such a model at all. Empty: it can. */
export function ruledOut(kubernetes: Kubernetes | null, { namespace }: KubernetesSettings): string {
  if (!kubernetes) return NOT_CONFIGURED;
  if (kubernetes.namespaces.has(namespace)) return '';
  return `The namespace ${namespace} is not among those of this runner (RUNNER_KUBERNETES_NAMESPACES).`;
}

/** Whoever publishes the model waits for the check. */
const CHECK_MS = 8_000;

export interface CheckedWorkload {
  /** Why it cannot be a model now, for an operator. Empty: it can. */
  readonly problem: string;
  /** Whether the problem rules out publishing it. Otherwise the problem may pass. */
  readonly impossible: boolean;
}

const mayPass = (problem: string): CheckedWorkload => ({ problem, impossible: false });

/** Looks for a workload and its Service before it is published. */
export async function checkWorkload(
  kubernetes: Kubernetes | null,
  settings: KubernetesSettings,
): Promise<CheckedWorkload> {
  const problem = ruledOut(kubernetes, settings);
  if (problem !== '' || !kubernetes) return { problem, impossible: true };
  const signal = AbortSignal.timeout(CHECK_MS);
  const { api } = kubernetes;
  const { namespace, service } = settings;
  try {
    await api.scale(settings, signal);
    const { slices } = await api.endpointSlices(namespace, service, signal);
    if (slices.length > 0) return mayPass('');
    return mayPass(
      `${titleOf(settings)} exists, but there is no Service ${namespace}/${service} with endpoints: name its Service.`,
    );
  } catch (error) {
    return { problem: describeApiError(error, settings), impossible: isAbsent(error) };
  }
}
