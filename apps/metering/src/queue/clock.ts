import { createRedisClient } from '@tidegate/redis';

/** Without an answer for this long, the connection is replaced. */
const ANSWER_TIMEOUT_MS = 2_000;
const RETRIES = 5;

export interface RedisClock {
  /**
   * Unix milliseconds, in whole seconds. Waits a few seconds if Redis is unavailable, then rejects.
   */
  nowMs(): Promise<number>;
  close(): void;
}

/**
 * Opens Redis' clock. Settlements are dated by it, so their age is too, whatever this machine's
 * clock says.
 */
export function openRedisClock(redisUrl: string, onError: (error: Error) => void): RedisClock {
  const connection = createRedisClient(redisUrl, {
    maxRetriesPerRequest: RETRIES,
    connectTimeout: ANSWER_TIMEOUT_MS,
    socketTimeout: ANSWER_TIMEOUT_MS,
    retryStrategy: (tries) => Math.min(100 * tries, 1_000),
  });
  connection.on('error', onError);
  return {
    async nowMs() {
      const [seconds] = await connection.time();
      return Number(seconds) * 1_000;
    },
    close: () => connection.disconnect(),
  };
}
