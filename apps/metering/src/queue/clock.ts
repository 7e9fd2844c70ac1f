import { createRedisClient } from '@tidegate/redis';

/** No connection, or no answer, for this long: it is made anew. */
const ANSWER_TIMEOUT_MS = 2_000;
const RETRIES = 5;

export interface RedisClock {
  /** Unix milliseconds, whole seconds. Waits a few seconds for a Redis that is away, then rejects. */
  nowMs(): Promise<number>;
  close(): void;
}

/** Redis' clock: settlements are dated by it, so their age is told by it too, whatever the clock of this machine says. */
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
