import { type ClientOptions, createRedisClient, type RedisClient } from '@tidegate/redis';

/** After this long without an answer, the connection is given up and opened again. */
export const ANSWER_TIMEOUT_MS = 2_000;
const RECONNECT_MAX_MS = 500;

export const reconnectDelayMs = (attempt: number): number => Math.min(50 * attempt, RECONNECT_MAX_MS);

/**
 * Nothing waits for a Redis that is unavailable. Nothing is sent twice, because a command without
 * an answer may have run.
 */
export const FAIL_FAST = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: ANSWER_TIMEOUT_MS,
  socketTimeout: ANSWER_TIMEOUT_MS,
  retryStrategy: reconnectDelayMs,
} as const satisfies ClientOptions;

/**
 * Creates a client that fails fast and reconnects by itself. The caller handles `error`, connects
 * and disconnects.
 */
export const createRedis = (url: string): RedisClient => createRedisClient(url, FAIL_FAST);
