import { WINDOW_MS } from './limits.ts';

/*
 * The definition of the sliding window. With a limit of N, request N+1 within any half-open window
 * (t - 60 s, t] is refused. Times are in milliseconds, may have fractions, and never go backwards.
 */

/** The admissions that share a window with a request at `nowMs`. They may be in any order. */
export const inWindow = (
  admittedMs: readonly number[],
  nowMs: number,
  windowMs: number = WINDOW_MS,
): readonly number[] => admittedMs.filter((at) => at > nowMs - windowMs && at <= nowMs);

/** True if the whole history leaves room for one more admission at `nowMs`. */
export const mayAdmit = (
  admittedMs: readonly number[],
  limit: number,
  nowMs: number,
  windowMs: number = WINDOW_MS,
): boolean => inWindow(admittedMs, nowMs, windowMs).length < limit;

/**
 * The most admissions in any one window of a history. A strict cap never lets this exceed the
 * limit.
 */
export const mostInAnyWindow = (admittedMs: readonly number[], windowMs: number = WINDOW_MS): number =>
  Math.max(0, ...admittedMs.map((end) => inWindow(admittedMs, end, windowMs).length));
