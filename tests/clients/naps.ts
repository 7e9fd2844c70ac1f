/** Waits between tries: shorter timers belong to streams and sockets, longer ones are time limits of whole calls. */
const SHORTEST_NAP_MS = 200;
const LONGEST_NAP_MS = 150_000;

export interface Naps {
  /** How long a client meant to wait, each time, in milliseconds. */
  readonly lengths: readonly number[];
  wake(): void;
}

/** Lets clients in this process wait between tries on a clock of the test's own: each wait is noted, and over at once. */
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
