/**
 * Timers of this length are waits between retries. Shorter ones belong to streams and sockets, and
 * longer ones are time limits of whole calls.
 */
const SHORTEST_NAP_MS = 200;
const LONGEST_NAP_MS = 150_000;

export interface Naps {
  /** How long a client meant to wait each time, in milliseconds. */
  readonly lengths: readonly number[];
  wake(): void;
}

/** Records the waits of clients in this process between retries, and ends each of them at once. */
export function noteNaps(): Naps {
  const lengths: number[] = [];
  const real = globalThis.setTimeout;
  const noting = (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const nap = ms >= SHORTEST_NAP_MS && ms <= LONGEST_NAP_MS;
    if (nap) lengths.push(ms);
    return real(callback, nap ? 0 : ms, ...args);
  };
  globalThis.setTimeout = Object.assign(noting, real) as typeof setTimeout;
  return {
    lengths,
    wake: () => {
      globalThis.setTimeout = real;
    },
  };
}
