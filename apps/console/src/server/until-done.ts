import { setTimeout as pause } from 'node:timers/promises';
import type { Outage } from '@tidegate/runtime';

/** Between two attempts. */
const RETRY_MS = 5_000;

/**
 * Repeats work that a start requires until it succeeds: Postgres may start later. Undefined: the
 * signal aborted first.
 */
export async function untilDone<T>(
  work: () => Promise<T>,
  outage: Outage,
  signal: AbortSignal,
  retryMs = RETRY_MS,
): Promise<T | undefined> {
  while (!signal.aborted) {
    try {
      const result = await work();
      outage.worked();
      return result;
    } catch (err) {
      if (!signal.aborted) outage.failed(err);
    }
    await pause(retryMs, undefined, { signal }).catch(() => {});
  }
  return undefined;
}
