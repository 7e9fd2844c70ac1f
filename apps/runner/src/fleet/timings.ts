import { DRIVER_TIMINGS, type DriverTimings } from '../drivers/driver.ts';
import type { RoomTimings } from '../room/room.ts';

/** Durations in milliseconds. */
export interface FleetTimings {
  readonly drivers: DriverTimings;
  /** A model that has run this long has its failures forgotten. */
  readonly steadyMs: number;
  /** Multiplies every backoff. 1 except in tests. */
  readonly backoffFactor: number;
  /**
   * How long a takeover waits for those who know what still runs, such as Kubernetes. During this
   * time no gateway gets an answer.
   */
  readonly takeoverLookMs: number;
  /** The same for a model that was just published. Only those who change models wait. */
  readonly lookMs: number;
  /** How long the end of a runner waits for workloads of deleted models to be scaled down. */
  readonly leaveWorkloadsMs: number;
  /** Between two checks for idle models. */
  readonly idleCheckMs: number;
  /** How long gateways have to let go of a model that falls asleep. */
  readonly drainMs: number;
  /** See `Gateways`. */
  readonly absentGraceMs: number;
  /** How long a gateway may take to answer a ping. Otherwise its connection counts as dead. */
  readonly pingTimeoutMs: number;
  /** How long a refresh, a start or a stop waits for the gateways. */
  readonly acknowledgeMs: number;
  /** How long a start or stop waits for Postgres. */
  readonly persistMs: number;
  /** Between two reads of all models. */
  readonly rereadMs: number;
  /** How a pool's capacity is shared out. */
  readonly room: RoomTimings;
  /** How long a model that has started does not give way to others. */
  readonly minimumStayMs: number;
}

export const FLEET_TIMINGS: FleetTimings = {
  drivers: DRIVER_TIMINGS,
  steadyMs: 60_000,
  backoffFactor: 1,
  takeoverLookMs: 500,
  lookMs: 5_000,
  leaveWorkloadsMs: 2_000,
  idleCheckMs: 1_000,
  drainMs: 5_000,
  absentGraceMs: 15_000,
  pingTimeoutMs: 2_000,
  acknowledgeMs: 3_000,
  persistMs: 5_000,
  rereadMs: 30_000,
  // After `patienceMs`, the others wait for whichever model has waited longest, for `maxFirstMs` at
  // most. That is longer than the minimum stay.
  room: { patienceMs: 10_000, maxFirstMs: 60_000 },
  minimumStayMs: 30_000,
};
