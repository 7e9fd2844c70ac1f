export { freePort } from '@tidegate/embedded';
export { cheapHashing } from './cheap-hashing.ts';
export { type TestClock, testClock } from './clock.ts';
export { type Collector, type ReceivedSpan, startCollector } from './collector.ts';
export {
  DESCRIPTION_URL,
  type DescribedHeader,
  type DescribedOperation,
  type DescribedReference,
  type DescribedResponse,
  type Description,
  readDescription,
} from './description.ts';
export { cases, TEST_ENV, testEnv } from './env.ts';
export { type EventuallyOptions, eventually } from './eventually.ts';
export { generousPlan } from './generous-plan.ts';
export { type IdentityProvider, startIdentityProvider } from './identity-provider.ts';
export { isPidAlive } from './is-pid-alive.ts';
export { itAsRoot, itOnLinux, itWhere } from './it-where.ts';
export { LLAMA_CPP, LLAMA_CPP_STREAM } from './llama-cpp.ts';
export { PATIENT_CALLS, PATIENT_DB } from './patient.ts';
export { findPgbouncer, type TestPgbouncer, testPgbouncer } from './pgbouncer.ts';
export {
  createTemplate,
  dropDatabase,
  emptyPostgres,
  type TestPostgres,
  testPostgres,
  urlAs,
} from './postgres.ts';
export {
  type TestRedis,
  type TestRedisOptions,
  testRedis,
  testRedisCluster,
  testRedisSentinel,
} from './redis.ts';
export { TcpProxy } from './tcp-proxy.ts';
export { totp } from './totp.ts';
export * from './upstream.ts';
export { untilOneWaitsForALock, waitingForLocks } from './waiting.ts';
export { withoutDescriptors } from './without-descriptors.ts';
