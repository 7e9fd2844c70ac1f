import { DRIVER_TIMINGS } from '../drivers/driver.ts';
import { FLEET_TIMINGS, type FleetTimings } from '../fleet/timings.ts';

/**
 * The timings of production, but shorter, except those that end a wait for something that will
 * happen: a busy machine may take long over that.
 */
export const FAST: FleetTimings = {
  ...FLEET_TIMINGS,
  drivers: {
    ...DRIVER_TIMINGS,
    startProbeMs: 20,
    probeMs: 50,
    retryProbeMs: 50,
    maxRetryProbeMs: 100,
    probeTimeoutMs: 60_000,
    remoteGraceMs: 300,
    stopGraceMs: 1_000,
    killGraceMs: 60_000,
    outputEndMs: 60_000,
    exitPollMs: 50,
    podPollMs: 40,
    podProblemMs: 200,
    countMs: 50,
    forbiddenMs: 200,
    apiRetryMs: 20,
    maxApiRetryMs: 100,
    scaleDownMs: 2_000,
  },
  backoffFactor: 0.03,
  takeoverLookMs: 60_000,
  idleCheckMs: 50,
  absentGraceMs: 200,
  pingTimeoutMs: 120_000,
  acknowledgeMs: 60_000,
  persistMs: 60_000,
};
