import { createRedisClient, type RedisClient } from '@tidegate/redis';

/** A Redis that hangs is given up on after this time. No command takes nearly as long. */
const ANSWER_TIMEOUT_MS = 5_000;

/**
 * Connects to Redis, calls `use`, and disconnects. If the connection is lost, commands fail, and
 * this rejects with the reason, which a command's own error does not have.
 */
export async function withRedis<T>(redisUrl: string, use: (client: RedisClient) => Promise<T>): Promise<T> {
  const client = createRedisClient(redisUrl, {
    maxRetriesPerRequest: 0,
    connectTimeout: 3_000,
    socketTimeout: ANSWER_TIMEOUT_MS,
    retryStrategy: () => null,
  });
  let lost: Error | null = null;
  client.on('error', (error) => {
    lost = error;
  });
  try {
    return await use(client);
  } catch (error) {
    throw lost ?? error;
  } finally {
    client.disconnect();
  }
}
