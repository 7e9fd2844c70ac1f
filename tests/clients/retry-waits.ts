/**
 * Timers of this length are waits between retries. Shorter ones belong to streams and sockets, and
 * longer ones are time limits of whole calls.
 */
const SHORTEST_MS = 200;
const LONGEST_MS = 150_000;

export interface RetryWaits {
  /** How long a client meant to wait each time, in milliseconds. */
  readonly lengths: readonly number[];
  restore(): void;
}

/**
 * Records the waits of clients in this process between retries, and ends each of them immediately.
 */
export function recordRetryWaits(): RetryWaits {
  const lengths: number[] = [];
  const real = globalThis.setTimeout;
  const recording = (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const isWait = ms >= SHORTEST_MS && ms <= LONGEST_MS;
    if (isWait) lengths.push(ms);
    return real(callback, isWait ? 0 : ms, ...args);
  };
  globalThis.setTimeout = Object.assign(recording, real) as typeof setTimeout;
  return {
    lengths,
    restore: () => {
      globalThis.setTimeout = real;
    },
  };
}
