import { setTimeout as sleep } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Default 10,000. */
  readonly timeoutMs?: number;
  /** Between two probes; default 20. */
  readonly intervalMs?: number;
}

/**
 * Probes until `probe` neither throws nor gives false, null or undefined, and returns what it gave.
 * @throws Error after `timeoutMs`, with what the last probe gave or threw as its cause
 */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  { timeoutMs = 10_000, intervalMs = 20 }: EventuallyOptions = {},
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
      throw new Error(`not so within ${timeoutMs} ms; last: ${why}`, { cause: last });
    }
    await sleep(intervalMs);
  }
}
