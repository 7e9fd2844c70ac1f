import type { KubernetesSettings } from '@tidegate/contracts/driver-settings';
import type { KubernetesApi } from './api.ts';
import { describeApiError, titleOf } from './errors.ts';

/** What the runner may do in Kubernetes. */
export interface Kubernetes {
  readonly api: KubernetesApi;
  /** The only namespaces whose workloads may be models. */
  readonly namespaces: ReadonlySet<string>;
}

export const NOT_CONFIGURED =
  'This runner runs no models in Kubernetes: RUNNER_KUBERNETES is not set for it.';

/** Why this runner cannot have such a model at all. Empty: it can. */
export function ruledOut(kubernetes: Kubernetes | null, { namespace }: KubernetesSettings): string {
  if (!kubernetes) return NOT_CONFIGURED;
  if (kubernetes.namespaces.has(namespace)) return '';
  return `The namespace ${namespace} is not among those of this runner (RUNNER_KUBERNETES_NAMESPACES).`;
}

/** Whoever publishes waits for it. */
const CHECK_MS = 8_000;

/** Looks for a workload and its Service before it is published. Empty: both are there. */
export async function checkWorkload(
  kubernetes: Kubernetes | null,
  settings: KubernetesSettings,
): Promise<string> {
  const problem = ruledOut(kubernetes, settings);
  if (problem !== '' || !kubernetes) return problem;
  const signal = AbortSignal.timeout(CHECK_MS);
  const { api } = kubernetes;
  const { namespace, service } = settings;
  try {
    await api.scale(settings, signal);
    const { slices } = await api.endpointSlices(namespace, service, signal);
    if (slices.length > 0) return '';
    return `${titleOf(settings)} is there, but no Service ${namespace}/${service} with endpoints: give its Service.`;
  } catch (error) {
    return describeApiError(error, settings);
  }
}
