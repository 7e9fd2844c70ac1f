import { redisUrl } from '@tidegate/redis';
import { LOG_LEVELS, loadConfig, shutdownDelayMs } from '@tidegate/runtime';
import { z } from 'zod';

const port = (fallback: number) => z.coerce.number().int().min(0).max(65_535).default(fallback);

const schema = z.object({
  LIMITER_HOST: z.string().default('127.0.0.1'),
  LIMITER_PORT: port(7_100),
  ADMIN_HOST: z.string().default('127.0.0.1'),
  ADMIN_PORT: port(7_101),
  REDIS_URL: redisUrl,
  REDIS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9:_-]{1,32}$/, 'letters, digits, ":", "_" and "-" only')
    .default('tg:'),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  /** Identifies this process in locks and logs. Random if not given. */
  LIMITER_ID: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'letters, digits, "_" and "-" only')
    .optional(),
  /** Shifts the limiter's time relative to Redis's clock. For tests. */
  LIMITER_CLOCK_OFFSET_MS: z.coerce.number().int().default(0),
  SHUTDOWN_DELAY_MS: shutdownDelayMs,
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
});

export type Config = z.output<typeof schema>;

/** @throws ConfigError */
export const readConfig = (env?: Readonly<Record<string, string | undefined>>): Config =>
  loadConfig(schema, env);
