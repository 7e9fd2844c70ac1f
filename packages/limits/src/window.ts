import { WINDOW_MS } from './limits.ts';

/*
 * The exact sliding window, as a definition to measure the limiter against: of N allowed requests the N+1st within any half-open
 * window (t - 60 s, t] is refused. Times are milliseconds (fractions allowed) and never go backwards.
 */

/** The admitted instants that a request at `nowMs` shares a window with; any order. */
export const inWindow = (
  admittedMs: readonly number[],
  nowMs: number,
  windowMs: number = WINDOW_MS,
): readonly number[] => admittedMs.filter((at) => at > nowMs - windowMs && at <= nowMs);

/** Whether a full history leaves room for one more at `nowMs`: the definition, with nothing trimmed. */
export const mayAdmit = (
  admittedMs: readonly number[],
  limit: number,
  nowMs: number,
  windowMs: number = WINDOW_MS,
): boolean => inWindow(admittedMs, nowMs, windowMs).length < limit;

/** The most admissions that any one window of a history holds: what a strict cap is measured against. */
export const mostInAnyWindow = (admittedMs: readonly number[], windowMs: number = WINDOW_MS): number =>
  Math.max(0, ...admittedMs.map((end) => inWindow(admittedMs, end, windowMs).length));
