import { createRedisClient, type RedisClient } from '@tidegate/redis';

/** A Redis that hangs is given up on after this time. No command takes nearly as long. */
const ANSWER_TIMEOUT_MS = 5_000;

/** ctl's connection to Redis. If it is lost, commands fail. */
export interface CtlRedis {
  readonly client: RedisClient;
  /** Why the connection was lost, if it was. A command's own error does not say why. */
  readonly lost: Error | null;
}

export function connectRedis(redisUrl: string): CtlRedis {
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
  return {
    client,
    get lost() {
      return lost;
    },
  };
}
