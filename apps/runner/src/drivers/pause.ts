import { setTimeout as delay } from 'node:timers/promises';
import type { DriverTimings } from './driver.ts';

/** Waits, or returns early once aborted. Never rejects. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal, ref: false }).catch(() => {});

const LONGEST_JITTER = 1.2;

/** `ms` give or take a fifth, so that probes of many models do not fall into step. */
export const jittered = (ms: number, random: () => number): number => ms * (LONGEST_JITTER - 0.4 * random());

/**
 * Between two probes of a remote: the longer it has been failing, the rarer they are, up to the bound within which its
 * recovery is seen.
 * @param failures in a row
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
