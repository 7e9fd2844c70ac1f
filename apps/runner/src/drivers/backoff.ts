import { doubledMs, jittered, LONGEST_JITTER } from '../pause.ts';
import type { DriverTimings } from './driver.ts';

/**
 * The pause before the next probe of a remote. It grows while the remote fails, up to a bound, so
 * that a recovery is noticed in time.
 * @param failures the number of failures in a row
 */
export function probePauseMs(
  failures: number,
  { probeMs, retryProbeMs, maxRetryProbeMs }: DriverTimings,
  random: () => number,
): number {
  if (failures === 0) return jittered(probeMs, random);
  return jittered(doubledMs(failures, retryProbeMs, maxRetryProbeMs / LONGEST_JITTER), random);
}

/**
 * The pause before a call to Kubernetes is tried again.
 * @param failures the number of failures in a row
 */
export const apiPauseMs = (
  failures: number,
  { apiRetryMs, maxApiRetryMs }: DriverTimings,
  random: () => number,
): number => jittered(doubledMs(failures, apiRetryMs, maxApiRetryMs / LONGEST_JITTER), random);
