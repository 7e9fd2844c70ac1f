export interface Clocks {
  /** The machine's clock, for times that others read. It may be set while the runner runs. */
  readonly nowMs: () => number;
  /** For durations. It only goes on, and means nothing to another process. */
  readonly monotonicMs: () => number;
}

/**
 * When something began, by the monotonic clock, that another process may have written down. A time
 * in the future counts as now: the clock was set back, or that of another machine is ahead.
 */
export const monotonicSince = (wallMs: number, { nowMs, monotonicMs }: Clocks): number =>
  monotonicMs() - Math.max(0, nowMs() - wallMs);
