import {
  databaseUrl,
  flag,
  host,
  loadConfig,
  port,
  secret,
  secretKey,
  serviceFields,
  type Trust,
  trustFields,
  trustOf,
  type Variables,
  wholeNumber,
} from '@tidegate/runtime';
import { z } from 'zod';

const schema = z.object({
  ...serviceFields(7_201),
  ...trustFields,
  RUNNER_HOST: host,
  RUNNER_PORT: port.default(7_200),
  DATABASE_URL: secret(databaseUrl),
  /** The directory of the records of models' processes. The runners of one machine share it. */
  RUNNER_STATE_DIR: z.string(),
  /** Opens the upstream keys that the control plane sealed. */
  SECRET_KEY: secret(secretKey),
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
  RUNNER_PROBE_TIMEOUT_MS: wholeNumber(100, 120_000).default(10_000),
});

export type Config = z.output<typeof schema> & {
  readonly trust: Trust;
  /** The environment for models' processes: the runner's own, without Tidegate's variables. */
  readonly modelEnv: Readonly<Record<string, string>>;
};

const OWN = new Set([
  'DATABASE_URL',
  'REDIS_URL',
  'SECRET_KEY',
  'AUTH_SECRET',
  'SERVICE_TOKEN',
  'SERVICE_TOKENS',
  'LOG_LEVEL',
  'PORT',
  'RUNNER_ADDRESS',
  'PGPASSWORD',
  'PGPASSFILE',
]);
const OWN_PREFIX =
  /^(ADMIN|RUNNER|LIMITER|GATEWAY|METERING|CONSOLE|OIDC|TIDEGATE|BETTER_AUTH|REDIS|GRPC_TLS)_/;
const isOwn = (name: string): boolean => OWN.has(name.replace(/_FILE$/, '')) || OWN_PREFIX.test(name);

/** @throws ConfigError */
export function readConfig(env: Variables = process.env): Config {
  const modelEnv: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !isOwn(name)) modelEnv[name] = value;
  const config = loadConfig(schema, env);
  const trust = trustOf(config, { variable: 'RUNNER_HOST', host: config.RUNNER_HOST });
  return { ...config, trust, modelEnv };
}
