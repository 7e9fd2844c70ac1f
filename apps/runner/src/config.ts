import { parseSecretKey } from '@tidegate/contracts';
import { LOG_LEVELS, loadConfig } from '@tidegate/runtime';
import { z } from 'zod';

const port = (fallback: number) => z.coerce.number().int().min(0).max(65_535).default(fallback);

const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((value) => value === 'true');

const schema = z.object({
  RUNNER_HOST: z.string().default('127.0.0.1'),
  RUNNER_PORT: port(7_200),
  ADMIN_HOST: z.string().default('127.0.0.1'),
  ADMIN_PORT: port(7_201),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  /** The directory of the records of models' processes. The runners of one machine share it. */
  RUNNER_STATE_DIR: z.string(),
  /** Opens the upstream keys that the control plane sealed. */
  SECRET_KEY: z.string().transform((setting, context) => {
    const key = parseSecretKey(setting);
    if (key) return key;
    context.addIssue({ code: 'custom', message: 'must be 32 bytes in base64' });
    return z.NEVER;
  }),
  /** The host name or address by which gateways and the runner reach models' processes. */
  RUNNER_MODEL_HOST: z
    .string()
    .regex(/^([\w.-]+|\[[\da-fA-F:]+\])$/, 'must be a host name or an address')
    .default('127.0.0.1'),
  /** End models' processes when the runner stops. Otherwise the next runner adopts them. */
  RUNNER_STOP_MODELS_ON_EXIT: flag,
  /**
   * Keep the output of models' processes beside their records. Off by default, because a model
   * server may print prompts.
   */
  RUNNER_MODEL_LOGS: flag,
  /**
   * How long a probe of a model waits for its answer. How many late answers end
   * a model's use depends on its driver.
   */
  RUNNER_PROBE_TIMEOUT_MS: z.coerce.number().int().min(100).max(120_000).default(10_000),
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
});

export type Config = z.output<typeof schema> & {
  /** The environment for models' processes: the runner's own, without Tidegate's variables. */
  readonly modelEnv: Readonly<Record<string, string>>;
};

const OWN = new Set([
  'DATABASE_URL',
  'REDIS_URL',
  'SECRET_KEY',
  'LOG_LEVEL',
  'PORT',
  'RUNNER_ADDRESS',
  'PGPASSWORD',
  'PGPASSFILE',
]);
const OWN_PREFIX = /^(ADMIN|RUNNER|LIMITER|GATEWAY|METERING|CONSOLE|TIDEGATE|BETTER_AUTH|REDIS)_/;

/** @throws ConfigError */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): Config {
  const modelEnv: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !OWN.has(name) && !OWN_PREFIX.test(name)) modelEnv[name] = value;
  return { ...loadConfig(schema, env), modelEnv };
}
