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
  /** Where models' processes are recorded. Shared by the runners of one machine. */
  RUNNER_STATE_DIR: z.string(),
  /** Opens the upstream keys that the control plane sealed. */
  SECRET_KEY: z.string().transform((setting, context) => {
    const key = parseSecretKey(setting);
    if (key) return key;
    context.addIssue({ code: 'custom', message: 'must be 32 bytes in base64' });
    return z.NEVER;
  }),
  /** By which gateways and the runner itself reach models' processes. */
  RUNNER_MODEL_HOST: z
    .string()
    .regex(/^([\w.-]+|\[[\da-fA-F:]+\])$/, 'must be a host name or an address')
    .default('127.0.0.1'),
  /** End models' processes when the runner is told to stop; otherwise the next runner adopts them. */
  RUNNER_STOP_MODELS_ON_EXIT: flag,
  /** Keep what models' processes print, beside their records. Off by default: a model server may print prompts. */
  RUNNER_MODEL_LOGS: flag,
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
});

export type Config = z.output<typeof schema> & {
  /** What a model's process gets of the runner's environment: all but what is Tidegate's own. */
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

/** Throws ConfigError. */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): Config {
  const modelEnv: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !OWN.has(name) && !OWN_PREFIX.test(name)) modelEnv[name] = value;
  return { ...loadConfig(schema, env), modelEnv };
}
