import { DRIVER_TIMINGS, type DriverTimings } from '../drivers/driver.ts';

/** How long the fleet takes over things. Milliseconds. */
export interface FleetTimings {
  readonly drivers: DriverTimings;
  /** Failures are forgiven once a model has been running this long. */
  readonly steadyMs: number;
  /** Of every backoff. 1 but in tests. */
  readonly backoffFactor: number;
  /** Between two looks for idle models. */
  readonly idleLookMs: number;
  /** Within it every gateway must have let go of a model that falls asleep. */
  readonly drainMs: number;
  /** See `Gateways`. */
  readonly absentGraceMs: number;
  /** How long an answered refresh waits for the gateways. */
  readonly acknowledgeMs: number;
  /** How long an answered start or stop waits for Postgres. */
  readonly persistMs: number;
  /** Between two full readings of the catalog. */
  readonly rereadMs: number;
}

export const FLEET_TIMINGS: FleetTimings = {
  drivers: DRIVER_TIMINGS,
  steadyMs: 60_000,
  backoffFactor: 1,
  idleLookMs: 1_000,
  drainMs: 5_000,
  absentGraceMs: 15_000,
  acknowledgeMs: 3_000,
  persistMs: 5_000,
  rereadMs: 30_000,
};
