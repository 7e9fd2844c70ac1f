import { redisUrl } from '@tidegate/redis';
import {
  databaseUrl,
  durationMs,
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
import { TIMING } from './timing.ts';

export const schema = z.object({
  ...serviceFields(7_101),
  ...trustFields,
  ...tracingFields,
  LIMITER_HOST: host.describe('The host name or address to listen on'),
  LIMITER_PORT: port.default(7_100).describe('The port of `LIMITER_HOST`. 0 means any free one'),
  REDIS_URL: secret(redisUrl),
  REDIS_PREFIX: redisPrefix,
  REDIS_ANSWER_TIMEOUT_MS: durationMs
    .default(TIMING.answerTimeoutMs)
    .describe(
      'How long Redis may take to answer. After that, the connection is replaced, and requests that wait for it fail',
    ),
  DATABASE_URL: secret(databaseUrl),
  LIMITER_ID: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" and "-"')
    .optional()
    .describe('The name of this process in locks and logs. Random if not set'),
  LIMITER_CLOCK_OFFSET_MS: z.coerce
    .number('must be a whole number')
    .int('must be a whole number')
    .default(0)
    .describe("Shifts the limiter's time relative to Redis' clock. For tests only"),
});

export type Config = z.output<typeof schema> & {
  readonly trust: Trust;
  /** Null: off. */
  readonly tracing: TracingSettings | null;
};

/** @throws ConfigError */
export function readConfig(env?: Variables): Config {
  return loadConfig(schema, env, {
    trust: (config) => trustOf(config, { variable: 'LIMITER_HOST', host: config.LIMITER_HOST }),
    tracing: tracingOf,
  });
}
