import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { redisUrl } from '@tidegate/redis/url';
import { z } from 'zod';

/** The default folder of this checkout's local stack. */
const LOCAL_DATA_DIR = fileURLToPath(new URL('../../../.local', import.meta.url));
const addresses = z
  .string()
  .transform((list) => list.split(',').map((address) => address.trim()))
  .refine((list) => list.every((address) => /^\S+:\d+$/.test(address)), 'host:port, comma-separated');

const schema = z.object({
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  REDIS_URL: redisUrl,
  REDIS_PREFIX: z.string().default('tg:'),
  LIMITER_ADDRESSES: addresses,
  RUNNER_ADDRESS: z.string().regex(/^\S+:\d+$/, 'host:port'),
  /** 32 bytes in base64. The same as the runner's. */
  SECRET_KEY: z.base64().refine((key) => Buffer.from(key, 'base64').length === 32, '32 bytes in base64'),
  /**
   * Many commands may run at once on a small machine with a small Postgres. Each takes one
   * connection and may wait this long for it.
   */
  CTL_CONNECT_TIMEOUT_MS: z.coerce.number().int().min(1).max(600_000).default(20_000),
});

export type Config = z.output<typeof schema>;

/** The message names every missing or invalid variable and shows no value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Variables = Readonly<Record<string, string | undefined>>;
const REQUIRED = ['DATABASE_URL', 'REDIS_URL', 'LIMITER_ADDRESSES', 'RUNNER_ADDRESS', 'SECRET_KEY'] as const;

/**
 * Reads the configuration from the environment if all is set there. Otherwise from a local stack's
 * file: the one in TIDEGATE_DATA_DIR, or this checkout's. The two are never mixed, because they
 * could belong to two installations. Variables that are set besides a file must have the file's
 * values, for example a DATABASE_URL exported for `npm start`.
 * @throws ConfigError
 */
export function readConfig(env: Variables = process.env, defaultDir: string = LOCAL_DATA_DIR): Config {
  const set = REQUIRED.filter((name) => env[name]);
  if (!env.TIDEGATE_DATA_DIR && set.length === REQUIRED.length) return parse(env);
  const dir = resolve(env.TIDEGATE_DATA_DIR || defaultDir);
  const local = readFile(join(dir, 'env.json'));
  const differing = set.filter((name) => env[name] !== local?.[name]);
  if (!local || differing.length > 0) throw new ConfigError(whatToDo(dir, local !== null, set, differing));
  const { REDIS_PREFIX, CTL_CONNECT_TIMEOUT_MS } = env;
  return parse({ REDIS_PREFIX: REDIS_PREFIX || undefined, CTL_CONNECT_TIMEOUT_MS, ...local });
}

function parse(variables: Variables): Config {
  const parsed = schema.safeParse(variables);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) => `  ${String(path[0])}: ${message}`);
  throw new ConfigError(`Bad configuration:\n${lines.join('\n')}`);
}

/** Null: there is no file, or it is not JSON. */
function readFile(file: string): Variables | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/**
 * Says why neither the environment nor the file can be used. Names variables and shows no value.
 */
function whatToDo(dir: string, found: boolean, set: readonly string[], differing: readonly string[]): string {
  const missing = REQUIRED.filter((name) => !set.includes(name));
  return [
    found
      ? `The local stack in ${dir} and the environment have different values of ${differing.join(', ')}: unset these to manage that stack.`
      : `There is no local stack in ${dir}: start one (npm start), or set TIDEGATE_DATA_DIR to the --data-dir of the one to manage.`,
    `To manage another installation, set all of ${REQUIRED.join(', ')}, and not TIDEGATE_DATA_DIR.`,
    ...(set.length > 0 && missing.length > 0 ? [`Missing for that: ${missing.join(', ')}.`] : []),
  ].join('\n');
}
