import { setTimeout as delay } from 'node:timers/promises';

/** Waits, or returns early once aborted. Never rejects. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  delay(ms, undefined, { signal, ref: false }).catch(() => {});

/** `ms` give or take a fifth, so that probes of many models do not fall into step. */
export const jittered = (ms: number, random: () => number): number => ms * (0.8 + 0.4 * random());
