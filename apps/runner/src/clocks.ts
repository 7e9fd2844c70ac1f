export interface Clocks {
  /** The machine's clock, for times that others read. It may be set while the runner runs. */
  readonly nowMs: () => number;
  /** For durations. It only moves forward, and means nothing to another process. */
  readonly monotonicMs: () => number;
}

/**
 * When something began, by the monotonic clock. Another process may have noted `wallMs`. A time in
 * the future counts as now: the clock was set back, or another machine's clock is ahead.
 */
export const monotonicSince = (wallMs: number, { nowMs, monotonicMs }: Clocks): number =>
  monotonicMs() - Math.max(0, nowMs() - wallMs);
