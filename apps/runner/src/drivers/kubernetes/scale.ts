import type { V1Scale } from '@kubernetes/client-node';
import type { IsTaken } from '../driver.ts';
import { ApiError, CONFLICT, type KubernetesApi, type Workload } from './api.ts';

/** How often a scale is read again because someone else changed the workload in between. */
const MAX_CONFLICTS = 5;

/**
 * Switches a workload on and returns its count. A count above 0 is never changed: it is someone's
 * choice, such as an autoscaler's. If there is an autoscaler, which ignores a workload at 0, the
 * count becomes 1.
 *
 * @param ending when it is aborted, nothing more is sent; the answer to what was sent is awaited,
 * because that may still be carried out
 * @throws ApiError
 */
export async function switchOn(
  api: KubernetesApi,
  workload: Workload,
  replicas: number,
  ending: AbortSignal,
): Promise<number> {
  const { signal } = new AbortController();
  for (let conflicts = 0; ; conflicts++) {
    const scale = await api.scale(workload, signal);
    if (countOf(scale) > 0) return countOf(scale);
    const count = replicas > 1 && (await isAutoscaled(api, workload, signal)) ? 1 : replicas;
    if (ending.aborted) throw new ApiError(0, 'the start was cancelled');
    try {
      await api.setScale(workload, { ...scale, spec: { replicas: count } }, signal);
      return count;
    } catch (error) {
      if (!isConflict(error) || conflicts >= MAX_CONFLICTS || ending.aborted) throw error;
    }
  }
}

/**
 * Switches a workload off, unless it is taken. Null: it is taken. The pods may still be ending when
 * this resolves. If it is switched on while this asks, the write conflicts, and this asks again.
 *
 * @throws ApiError, and what `isTaken` throws
 */
export async function switchOff(
  api: KubernetesApi,
  workload: Workload,
  isTaken: IsTaken,
  signal: AbortSignal,
): Promise<V1Scale | null> {
  for (let conflicts = 0; ; conflicts++) {
    const scale = await api.scale(workload, signal);
    if (countOf(scale) === 0) return scale;
    if (await isTaken()) return null;
    try {
      return await api.setScale(workload, { ...scale, spec: { replicas: 0 } }, signal);
    } catch (error) {
      if (!isConflict(error) || conflicts >= MAX_CONFLICTS) throw error;
    }
  }
}

/** How many replicas there should be. API servers omit a count of 0. */
export const countOf = ({ spec }: V1Scale): number => spec?.replicas ?? 0;

const isConflict = (error: unknown): boolean => error instanceof ApiError && error.status === CONFLICT;

async function isAutoscaled(
  api: KubernetesApi,
  { namespace, kind, name }: Workload,
  signal: AbortSignal,
): Promise<boolean> {
  const autoscalers = await api.autoscalers(namespace, signal);
  return autoscalers.some(({ spec }) => {
    const target = spec?.scaleTargetRef;
    return target?.kind.toLowerCase() === kind && target.name === name;
  });
}
