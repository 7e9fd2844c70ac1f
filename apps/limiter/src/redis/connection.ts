import { type ClientOptions, createRedisClient, type RedisClient } from '@tidegate/redis';

const RECONNECT_MAX_MS = 500;

export const reconnectDelayMs = (attempt: number): number => Math.min(50 * attempt, RECONNECT_MAX_MS);

/**
 * Nothing waits for a Redis that is unavailable. Nothing is sent twice, because a command without
 * an answer may have run.
 */
export const failFast = (answerTimeoutMs: number) =>
  ({
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: answerTimeoutMs,
    socketTimeout: answerTimeoutMs,
    retryStrategy: reconnectDelayMs,
  }) as const satisfies ClientOptions;

/**
 * Creates a client that fails fast and reconnects by itself. The caller handles `error`, connects
 * and disconnects.
 */
export const createRedis = (url: string, answerTimeoutMs: number): RedisClient =>
  createRedisClient(url, failFast(answerTimeoutMs));
