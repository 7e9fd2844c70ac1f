export { default as slotOf } from 'cluster-key-slot';
export { checkRedis, RedisCheckError, type RedisServers } from './check.ts';
export {
  type ClientOptions,
  createRedisClient,
  createRedisConnection,
  type RedisClient,
} from './client.ts';
export { explainRedis } from './explain.ts';
export { openQueue, type QueueLink } from './queue.ts';
export { type Address, parseRedisUrl, type RedisTarget, RedisUrlError, redisUrl } from './url.ts';
export { redisTooOld } from './version.ts';
