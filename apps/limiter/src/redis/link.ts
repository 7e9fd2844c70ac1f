import type { Logger } from '@tidegate/runtime';
import type { Redis } from 'ioredis';
import { createRedis, createSubscriber } from './connection.ts';

export interface RedisLink {
  readonly redis: Redis;
  /** For subscriptions. */
  readonly subscriber: Redis;
  ready(): boolean;
  /** After every loss of the connection, and before the first command of a new one. */
  onBreak(listener: () => void): void;
  onReady(listener: () => void): void;
  connect(): void;
  close(): void;
}

/** The two connections of a limiter. They may find no Redis at first, or lose it: they keep trying until closed. */
export function createRedisLink(url: string, logger: Logger): RedisLink {
  const redis = createRedis(url);
  const subscriber = createSubscriber(url);
  let reported = '';
  redis.on('error', (err) => {
    if (err.message !== reported) logger.warn({ err }, 'redis is away');
    reported = err.message;
  });
  redis.on('ready', () => {
    reported = '';
    logger.info('redis is there');
  });
  // It shares the fate of the first connection, which reports.
  subscriber.on('error', () => {});
  return {
    redis,
    subscriber,
    ready: () => redis.status === 'ready',
    onBreak(listener) {
      redis.on('close', listener);
      redis.prependListener('ready', listener);
    },
    onReady: (listener) => void redis.on('ready', listener),
    connect() {
      // A first attempt that fails is retried like any other.
      redis.connect().catch(() => {});
      subscriber.connect().catch(() => {});
    },
    close() {
      redis.disconnect();
      subscriber.disconnect();
    },
  };
}
