import { redisUrl } from '@tidegate/redis';
import { LOG_LEVELS, loadConfig } from '@tidegate/runtime';
import { z } from 'zod';

const port = (fallback: number) => z.coerce.number().int().min(0).max(65_535).default(fallback);

const schema = z.object({
  REDIS_URL: redisUrl,
  REDIS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9:_-]{1,32}$/, 'letters, digits, ":", "_" and "-" only')
    .default('tg:'),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  LIMITER_ADDRESSES: z
    .string()
    .transform((list) => list.split(',').map((address) => address.trim()))
    .refine(
      (list) => list.every((address) => /^[^\s:]+:\d+$|^\[.+\]:\d+$/.test(address)),
      'host:port, comma-separated',
    ),
  ADMIN_HOST: z.string().default('127.0.0.1'),
  ADMIN_PORT: port(7_301),
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  /** How many jobs are worked on at once. Their settlements share transactions. */
  METERING_CONCURRENCY: z.coerce.number().int().min(1).max(256).default(40),
});

export type Config = z.output<typeof schema>;

/** @throws ConfigError */
export const readConfig = (env?: Readonly<Record<string, string | undefined>>): Config =>
  loadConfig(schema, env);
