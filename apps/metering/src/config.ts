import { redisUrl } from '@tidegate/redis';
import {
  addresses,
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
  REDIS_URL: secret(redisUrl),
  REDIS_PREFIX: redisPrefix,
  DATABASE_URL: secret(databaseUrl),
  LIMITER_ADDRESSES: addresses,
  /** How many jobs are worked on at once. Their settlements share transactions. */
  METERING_CONCURRENCY: wholeNumber(1, MAX_CONCURRENCY).default(40),
});

export type Config = z.output<typeof schema>;

/** @throws ConfigError */
export const readConfig = (env?: Variables): Config => loadConfig(schema, env);
