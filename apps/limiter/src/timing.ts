import { CUT_OFF_MS, LEASE_MS } from '@tidegate/contracts';

export interface LimiterTiming {
  readonly leaseMs: number;
  /** How long a Redis server must be available before this limiter declares an instance dead. */
  readonly graceMs: number;
  readonly reapEveryMs: number;
  readonly recoverEveryMs: number;
  readonly sweepEveryMs: number;
  readonly sweepMinAgeMs: number;
}

export const TIMING: LimiterTiming = {
  leaseMs: LEASE_MS,
  // Less than four reaper intervals, so that the fourth run finds it over.
  graceMs: CUT_OFF_MS,
  reapEveryMs: 2_000,
  recoverEveryMs: 10_000,
  sweepEveryMs: 10_000,
  sweepMinAgeMs: 30_000,
};
