import { doubledMs } from '../pause.ts';

/** The backoff of a failed model: 10 s after the first failure in a row, doubling to 5 min. */
export const backoffMs = (failures: number): number => doubledMs(failures, 10_000, 5 * 60_000);

/** The pause before trying again to end a model: 1 s at first, doubling to 1 min. */
export const haltBackoffMs = (failures: number): number => doubledMs(failures, 1_000, 60_000);
