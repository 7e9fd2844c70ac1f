const FIRST_MS = 10_000;
const LONGEST_MS = 5 * 60_000;

/** How long a failed model is left alone: 10 s after the first failure in a row, doubling to 5 min. */
export const backoffMs = (failures: number): number =>
  Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(Math.max(failures - 1, 0), 30));
