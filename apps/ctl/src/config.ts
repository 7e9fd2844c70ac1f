import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { redisUrl } from '@tidegate/redis';
import { z } from 'zod';

/** Where the local stack of this checkout is kept unless it is told otherwise. */
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
  /** 32 bytes in base64, the runner's. */
  SECRET_KEY: z.base64().refine((key) => Buffer.from(key, 'base64').length === 32, '32 bytes in base64'),
});

export type Config = z.output<typeof schema>;

/** Its message names every variable that is missing or bad, and shows no value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Variables = Readonly<Record<string, string | undefined>>;
const REQUIRED = ['DATABASE_URL', 'REDIS_URL', 'LIMITER_ADDRESSES', 'RUNNER_ADDRESS', 'SECRET_KEY'] as const;

/**
 * From the environment when all is set there, else from the file of a local stack: the one in TIDEGATE_DATA_DIR, or the one
 * of this checkout. Never a mixture, which could be two installations: what the environment sets beside a file must be what
 * the file says, as it is for who keeps DATABASE_URL exported for `npm start`. Throws ConfigError.
 */
export function readConfig(env: Variables = process.env, defaultDir: string = LOCAL_DATA_DIR): Config {
  const set = REQUIRED.filter((name) => env[name]);
  if (!env.TIDEGATE_DATA_DIR && set.length === REQUIRED.length) return parse(env);
  const dir = resolve(env.TIDEGATE_DATA_DIR || defaultDir);
  const local = readFile(join(dir, 'env.json'));
  const differing = set.filter((name) => env[name] !== local?.[name]);
  if (!local || differing.length > 0) throw new ConfigError(whatToDo(dir, local !== null, set, differing));
  return parse({ REDIS_PREFIX: env.REDIS_PREFIX || undefined, ...local });
}

function parse(variables: Variables): Config {
  const parsed = schema.safeParse(variables);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) => `  ${String(path[0])}: ${message}`);
  throw new ConfigError(`Bad configuration:\n${lines.join('\n')}`);
}

/** Null: there is none, or it is not JSON. */
function readFile(file: string): Variables | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** Why neither the environment nor the file will do; names variables and shows no value. */
function whatToDo(dir: string, found: boolean, set: readonly string[], differing: readonly string[]): string {
  const missing = REQUIRED.filter((name) => !set.includes(name));
  return [
    found
      ? `The local stack in ${dir} has another ${differing.join(', ')} than the environment: unset what differs to manage that stack.`
      : `There is no local stack in ${dir}: start one (npm start), or set TIDEGATE_DATA_DIR to the --data-dir of the one to manage.`,
    `To manage another installation, set all of ${REQUIRED.join(', ')}, and not TIDEGATE_DATA_DIR.`,
    ...(set.length > 0 && missing.length > 0 ? [`Missing for that: ${missing.join(', ')}.`] : []),
  ].join('\n');
}
