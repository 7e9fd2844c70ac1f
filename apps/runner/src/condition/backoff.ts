const FIRST_MS = 10_000;
const LONGEST_MS = 5 * 60_000;
const FIRST_HALT_MS = 1_000;
const LONGEST_HALT_MS = 60_000;

const doubled = (firstMs: number, longestMs: number, failures: number): number =>
  Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 30));

/** The backoff of a failed model: 10 s after the first failure in a row, doubling to 5 min. */
export const backoffMs = (failures: number): number => doubled(FIRST_MS, LONGEST_MS, failures);

/** The pause before trying again to end a model: 1 s at first, doubling to 1 min. */
export const haltBackoffMs = (failures: number): number => doubled(FIRST_HALT_MS, LONGEST_HALT_MS, failures);
