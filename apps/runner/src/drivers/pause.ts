import { setTimeout as delay } from 'node:timers/promises';
import type { DriverTimings } from './driver.ts';

/** Waits, or returns early when aborted. Never rejects. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal, ref: false }).catch(() => {});

const LONGEST_JITTER = 1.2;

/** Varies `ms` by up to a fifth, so that the probes of many models do not coincide. */
export const jittered = (ms: number, random: () => number): number => ms * (LONGEST_JITTER - 0.4 * random());

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
  const doubledMs = retryProbeMs * 2 ** Math.min(failures - 1, 30);
  return jittered(Math.min(doubledMs, maxRetryProbeMs / LONGEST_JITTER), random);
}

/**
 * The pause before a call to Kubernetes is tried again.
 * @param failures the number of failures in a row
 */
export const apiPauseMs = (
  failures: number,
  { apiRetryMs, maxApiRetryMs }: DriverTimings,
  random: () => number,
): number =>
  jittered(Math.min(apiRetryMs * 2 ** Math.min(failures - 1, 30), maxApiRetryMs / LONGEST_JITTER), random);
