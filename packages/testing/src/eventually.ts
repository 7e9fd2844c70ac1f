import { setTimeout as sleep } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Default 60,000: enough on a busy machine. It costs time only when something is wrong. */
  readonly timeoutMs?: number;
  /** The time between two probes; default 20. */
  readonly intervalMs?: number;
}

/**
 * Calls `probe` until it neither throws nor returns false, null or undefined. Returns its result.
 * @throws Error after `timeoutMs`, with what the last probe returned or threw as its cause
 */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  { timeoutMs = 60_000, intervalMs = 20 }: EventuallyOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + timeoutMs;
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
    if (performance.now() >= deadline) {
      const why = last instanceof Error ? last.message : String(last);
      throw new Error(`condition not met within ${timeoutMs} ms; last: ${why}`, { cause: last });
    }
    await sleep(intervalMs);
  }
}
