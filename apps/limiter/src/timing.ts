import { CUT_OFF_MS, LEASE_MS } from '@tidegate/contracts';

export interface LimiterTiming {
  /** After this long without an answer, a connection to Redis is given up and opened again. */
  readonly answerTimeoutMs: number;
  /** How long a read of Postgres may take, including its wait for others. */
  readonly readTimeoutMs: number;
  readonly leaseMs: number;
  /** How long a Redis server must be available before this limiter declares an instance dead. */
  readonly graceMs: number;
  readonly reapEveryMs: number;
  readonly recoverEveryMs: number;
  readonly sweepEveryMs: number;
  readonly sweepMinAgeMs: number;
  /** How long gateways have to move to another limiter, where there is one. */
  readonly gatewaysMoveMs: number;
}

export const TIMING: LimiterTiming = {
  answerTimeoutMs: 2_000,
  readTimeoutMs: 4_000,
  leaseMs: LEASE_MS,
  // Less than four reaper intervals, so that the fourth run finds it over.
  graceMs: CUT_OFF_MS,
  reapEveryMs: 2_000,
  recoverEveryMs: 10_000,
  sweepEveryMs: 10_000,
  sweepMinAgeMs: 30_000,
  gatewaysMoveMs: 1_000,
};
