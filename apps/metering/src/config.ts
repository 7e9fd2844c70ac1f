import { redisUrl } from '@tidegate/redis';
import {
  addresses,
  type Caller,
  callerFields,
  callerOf,
  databaseUrl,
  loadConfig,
  redisPrefix,
  secret,
  serviceFields,
  type Variables,
  wholeNumber,
} from '@tidegate/runtime';
import { z } from 'zod';

const MAX_CONCURRENCY = 256;

const schema = z.object({
  ...serviceFields(7_301),
  ...callerFields,
  REDIS_URL: secret(redisUrl),
  REDIS_PREFIX: redisPrefix,
  DATABASE_URL: secret(databaseUrl),
  LIMITER_ADDRESSES: addresses,
  /** How many jobs are worked on at once. Their settlements share transactions. */
  METERING_CONCURRENCY: wholeNumber(1, MAX_CONCURRENCY).default(40),
});

export type Config = z.output<typeof schema> & { readonly caller: Caller };

/** @throws ConfigError */
export function readConfig(env?: Variables): Config {
  const config = loadConfig(schema, env);
  return { ...config, caller: callerOf(config) };
}
