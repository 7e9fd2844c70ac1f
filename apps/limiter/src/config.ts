import { redisUrl } from '@tidegate/redis';
import {
  databaseUrl,
  host,
  loadConfig,
  port,
  redisPrefix,
  secret,
  serviceFields,
  type Trust,
  trustFields,
  trustOf,
  type Variables,
} from '@tidegate/runtime';
import { type TracingSettings, tracingFields, tracingOf } from '@tidegate/tracing';
import { z } from 'zod';

const schema = z.object({
  ...serviceFields(7_101),
  ...trustFields,
  ...tracingFields,
  LIMITER_HOST: host,
  LIMITER_PORT: port.default(7_100),
  REDIS_URL: secret(redisUrl),
  REDIS_PREFIX: redisPrefix,
  DATABASE_URL: secret(databaseUrl),
  /** Identifies this process in locks and logs. Random if not given. */
  LIMITER_ID: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" and "-"')
    .optional(),
  /** Shifts the limiter's time relative to Redis's clock. For tests. */
  LIMITER_CLOCK_OFFSET_MS: z.coerce.number().int().default(0),
});

export type Config = z.output<typeof schema> & {
  readonly trust: Trust;
  /** Null: off. */
  readonly tracing: TracingSettings | null;
};

/** @throws ConfigError */
export function readConfig(env?: Variables): Config {
  const config = loadConfig(schema, env);
  const trust = trustOf(config, { variable: 'LIMITER_HOST', host: config.LIMITER_HOST });
  return { ...config, trust, tracing: tracingOf(config) };
}
