import { redisUrl } from '@tidegate/redis';
import {
  addresses,
  callerFields,
  callerOf,
  databaseUrl,
  loadConfig,
  redisPrefix,
  type ServiceIdentity,
  secret,
  serviceFields,
  type Variables,
  wholeNumber,
} from '@tidegate/runtime';
import { type TracingSettings, tracingFields, tracingOf } from '@tidegate/tracing';
import { z } from 'zod';

const MAX_CONCURRENCY = 256;
const MIN_AUDIT_KEEP_DAYS = 30;
const MAX_AUDIT_KEEP_DAYS = 3_650;

export const schema = z.object({
  ...serviceFields(7_301),
  ...callerFields,
  ...tracingFields,
  REDIS_URL: secret(redisUrl),
  REDIS_PREFIX: redisPrefix,
  DATABASE_URL: secret(databaseUrl),
  LIMITER_ADDRESSES: addresses,
  METERING_CONCURRENCY: wholeNumber(1, MAX_CONCURRENCY)
    .default(40)
    .describe('How many jobs are worked on at once. Their settlements share transactions'),
  AUDIT_KEEP_DAYS: wholeNumber(MIN_AUDIT_KEEP_DAYS, MAX_AUDIT_KEEP_DAYS)
    .default(365)
    .describe('Audit events are deleted after this many days'),
});

export type Config = z.output<typeof schema> & {
  readonly caller: ServiceIdentity;
  /** Null: off. */
  readonly tracing: TracingSettings | null;
};

/** @throws ConfigError */
export function readConfig(env?: Variables): Config {
  return loadConfig(schema, env, { caller: callerOf, tracing: tracingOf });
}
