import { Redis } from 'ioredis';

/** No answer for this long: the connection is given up and made anew. */
const ANSWER_TIMEOUT_MS = 2_000;
const RECONNECT_MAX_MS = 500;

/**
 * A connection that fails fast and recovers by itself: nothing waits for a Redis that is away, and nothing is sent twice, because
 * a command whose answer is missing may have run. The caller handles `error`, connects and disconnects.
 */
export const createRedis = (url: string): Redis =>
  new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: ANSWER_TIMEOUT_MS,
    socketTimeout: ANSWER_TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(50 * attempt, RECONNECT_MAX_MS),
  });

/** A connection for subscriptions: silence is normal on it. */
export const createSubscriber = (url: string): Redis =>
  new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: ANSWER_TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(50 * attempt, RECONNECT_MAX_MS),
  });
