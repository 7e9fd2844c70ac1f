import { setTimeout as sleep } from 'node:timers/promises';

const MIN_INTERVAL_MS = 20;
const MAX_INTERVAL_MS = 100;

export interface EventuallyOptions {
  /** Default 60,000: enough on a busy machine. It costs time only when something is wrong. */
  readonly timeoutMs?: number;
  /**
   * The time between two probes. Default: a tenth of the time since the first one, but at least 20
   * and at most 100. So long waits do not take the CPU time of what they wait for.
   */
  readonly intervalMs?: number;
}

/**
 * Calls `probe` until it neither throws nor returns false, null or undefined. Returns its result.
 * @throws Error after `timeoutMs`, with what the last probe returned or threw as its cause
 */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  { timeoutMs = 60_000, intervalMs }: EventuallyOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const begunMs = performance.now();
  for (;;) {
    let last: unknown;
    try {
      const value = await probe();
      if (value !== false && value !== null && value !== undefined)
        return value as Exclude<T, false | null | undefined>;
      last = value;
    } catch (error) {
      last = error;
    }
    const waitedMs = performance.now() - begunMs;
    if (waitedMs >= timeoutMs) {
      const why = last instanceof Error ? last.message : String(last);
      throw new Error(`condition not met within ${timeoutMs} ms; last: ${why}`, { cause: last });
    }
    await sleep(intervalMs ?? Math.min(MAX_INTERVAL_MS, Math.max(MIN_INTERVAL_MS, waitedMs / 10)));
  }
}
