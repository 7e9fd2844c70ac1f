import { setTimeout as delay } from 'node:timers/promises';

/** Waits, or returns early when aborted. Never rejects. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal, ref: false }).catch(() => {});

/**
 * A pause that doubles with each failure in a row, from `firstMs` after the first one up to
 * `longestMs`.
 */
export const doubledMs = (failures: number, firstMs: number, longestMs: number): number =>
  Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 30));

export const LONGEST_JITTER = 1.2;

/** Varies `ms` by up to a fifth, so that the probes of many models do not coincide. */
export const jittered = (ms: number, random: () => number): number => ms * (LONGEST_JITTER - 0.4 * random());
