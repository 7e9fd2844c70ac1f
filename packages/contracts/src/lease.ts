/**
 * When a limiter has had no heartbeat of a gateway instance for this long, by Redis' clock, it may
 * fence the instance and give its slots away.
 */
export const LEASE_MS = 8_000;

/**
 * When no limiter has answered a gateway instance for this long, the instance ends by itself. That
 * leaves half a second for the end of its requests to reach the model. After an outage of Redis,
 * limiters wait at least this long before they fence any instance.
 */
export const CUT_OFF_MS = 7_500;
