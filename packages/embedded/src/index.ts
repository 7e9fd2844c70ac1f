export { causeIn, EmbeddedError, systemCause } from './errors.ts';
export { freePort, isFree } from './ports.ts';
export { type PostgresOptions, type RunningPostgres, startPostgres } from './postgres/start.ts';
export { type FindProgramOptions, findChromium, findProgram, type Program } from './program/find.ts';
export { findOrUnpack } from './program/unpack.ts';
export {
  type ClusterNode,
  type RedisClusterOptions,
  type RunningRedisCluster,
  startRedisCluster,
} from './redis/cluster.ts';
export { type FindRedisOptions, findRedis, type RedisServer } from './redis/find.ts';
export {
  type RedisSentinelOptions,
  type RunningRedisSentinel,
  startRedisSentinel,
} from './redis/sentinel.ts';
export { type RedisNode, type RedisOptions, type RunningRedis, startRedis } from './redis/start.ts';
