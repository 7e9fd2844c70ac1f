import { WINDOW_MS } from './limits.ts';

/*
 * The exact sliding window, as arithmetic: of N allowed requests the N+1st within any half-open window (t - 60 s, t] is
 * refused. Times are milliseconds (fractions allowed) and never go backwards.
 */

export type WindowDecision =
  | {
      readonly admitted: true;
      /** How many more would be admitted at this same instant. */
      readonly remaining: number;
      /** Until the oldest counted request leaves the window. */
      readonly resetMs: number;
    }
  | {
      readonly admitted: false;
      /** The first instant at which the same request would be admitted, if nothing else is. */
      readonly retryAfterMs: number;
    };

export interface Window {
  /** Counts the request when it is admitted; a refused one changes nothing. */
  tryAdmit(nowMs: number): WindowDecision;
  /** Takes one request admitted at this instant back; false: there is none. */
  withdraw(admittedAtMs: number): boolean;
  /** Admitted instants, newest first, at most the limit's number of them. */
  log(): readonly number[];
}

/** The reference of what the limiter's script does: a log trimmed to the limit, decided by its last entry alone. */
export function createWindow(limit: number, windowMs: number = WINDOW_MS): Window {
  const log: number[] = [];
  return {
    tryAdmit(nowMs) {
      const nth = log[limit - 1];
      if (nth !== undefined && nowMs - nth < windowMs)
        return { admitted: false, retryAfterMs: nth + windowMs - nowMs };
      log.unshift(nowMs);
      log.length = Math.min(log.length, limit);
      const counted = inWindow(log, nowMs, windowMs);
      return {
        admitted: true,
        remaining: limit - counted.length,
        resetMs: Math.min(...counted) + windowMs - nowMs,
      };
    },
    withdraw(admittedAtMs) {
      const at = log.indexOf(admittedAtMs);
      if (at >= 0) log.splice(at, 1);
      return at >= 0;
    },
    log: () => [...log],
  };
}

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
