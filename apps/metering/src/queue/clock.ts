import { createRedisClient } from '@tidegate/redis';
import { within } from '@tidegate/runtime';

/** After this long without an answer, the connection is replaced. */
const ANSWER_TIMEOUT_MS = 2_000;
const RETRIES = 5;
/**
 * The retries bound the wait for a server. Without this limit, a command would wait forever while a
 * whole cluster or all Sentinels are unavailable.
 */
const GIVE_UP_MS = 10_000;

export interface RedisClock {
  /**
   * Unix milliseconds, in whole seconds. Waits a few seconds if Redis is unavailable, then rejects.
   */
  nowMs(): Promise<number>;
  close(): void;
}

/**
 * Opens Redis' clock. Settlements are dated by it, so their age is measured by it too, whatever
 * this machine's clock says.
 */
export function openRedisClock(
  redisUrl: string,
  onError: (error: Error) => void,
  giveUpMs = GIVE_UP_MS,
): RedisClock {
  const connection = createRedisClient(redisUrl, {
    maxRetriesPerRequest: RETRIES,
    connectTimeout: ANSWER_TIMEOUT_MS,
    socketTimeout: ANSWER_TIMEOUT_MS,
    retryStrategy: (tries) => Math.min(100 * tries, 1_000),
  });
  // A command's own error says only that it was tried too often.
  let lost: Error | null = null;
  connection.on('ready', () => {
    lost = null;
  });
  connection.on('error', (error) => {
    lost = error;
    onError(error);
  });
  return {
    async nowMs() {
      const told = await within(connection.time(), giveUpMs, null).catch((error) => {
        throw lost ?? error;
      });
      if (told === null) throw lost ?? new Error('Redis did not answer in time');
      return Number(told[0]) * 1_000;
    },
    close: () => connection.disconnect(),
  };
}
