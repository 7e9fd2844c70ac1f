import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { redisUrl } from '@tidegate/redis/url';
import {
  addresses,
  callerFields,
  callerOf,
  databaseUrl,
  flag,
  loadConfig,
  poolAddresses,
  readSecretFiles,
  redisPrefix,
  type ServiceIdentity,
  secret,
  secretKey,
  type Variables,
  wholeNumber,
} from '@tidegate/runtime/settings';
import { z } from 'zod';

/** The default folder of this checkout's local stack. */
const LOCAL_DATA_DIR = fileURLToPath(new URL('../../../.local', import.meta.url));
const MAX_CONNECT_TIMEOUT_MS = 600_000;

export const schema = z.object({
  ...callerFields,
  DATABASE_URL: secret(databaseUrl),
  REDIS_URL: secret(redisUrl.optional()).describe(
    'Redis, with the login of ctl. Only `ctl queue` and `ctl doctor` need it',
  ),
  REDIS_PREFIX: redisPrefix,
  LIMITER_ADDRESSES: addresses,
  RUNNER_ADDRESS: poolAddresses,
  SECRET_KEY: secret(secretKey),
  SECRET_KEY_PREVIOUS: secret(secretKey.optional()).describe(
    'The previous key, for `ctl secrets reseal` ([when](secrets.md))',
  ),
  OIDC_ONLY: flag.describe(
    'As in the console: no one signs in with a password. Then `ctl member` neither takes nor shows one',
  ),
  /**
   * Many commands may run at once on a small machine with a small Postgres. Each takes one
   * connection and may wait this long for it.
   */
  CTL_CONNECT_TIMEOUT_MS: wholeNumber(1, MAX_CONNECT_TIMEOUT_MS)
    .default(20_000)
    .describe('How long a command waits for a connection to Postgres'),
});

export type Config = z.output<typeof schema> & { readonly caller: ServiceIdentity };

/** The system user who runs the command. With sudo, the user who called it. */
export function systemUser(env: Variables = process.env): string {
  // A user without an entry, as in some containers, has no name.
  const named = () => {
    try {
      return userInfo().username;
    } catch {
      return String(process.getuid?.() ?? 'unknown');
    }
  };
  return env.SUDO_USER || named();
}

export const environment = (env: Variables = process.env): Variables => env;

/**
 * It is not clear which installation to manage. The message says what to do and shows no values.
 */
export class InstallationError extends Error {
  override readonly name = 'InstallationError';
}

/** The variables that tell which installation it is. */
const NAMING = ['DATABASE_URL', 'REDIS_URL', 'LIMITER_ADDRESSES', 'RUNNER_ADDRESS', 'SECRET_KEY'] as const;
const REQUIRED = NAMING.filter((name) => name !== 'REDIS_URL');

/**
 * Reads the configuration from the environment if everything required is set there. Otherwise from
 * a local stack's file: the one in TIDEGATE_DATA_DIR, or this checkout's. The two are never mixed,
 * because they could belong to two installations. Variables that are set alongside a file must have
 * the file's values, for example a DATABASE_URL exported for `npm start`.
 * @throws ConfigError
 * @throws InstallationError
 */
export function readConfig(env: Variables = process.env, defaultDir: string = LOCAL_DATA_DIR): Config {
  const given = readSecretFiles(schema, env);
  const set = NAMING.filter((name) => given[name]);
  const dir = localDirOf(given, defaultDir);
  if (dir === null) return parse(given);
  const local = readFile(join(dir, 'env.json'));
  const differing = set.filter((name) => given[name] !== local?.[name]);
  if (!local || differing.length > 0)
    throw new InstallationError(whatToDo(dir, local !== null, set, differing));
  const { REDIS_PREFIX, CTL_CONNECT_TIMEOUT_MS, SECRET_KEY_PREVIOUS, OIDC_ONLY } = given;
  return parse({ REDIS_PREFIX, CTL_CONNECT_TIMEOUT_MS, SECRET_KEY_PREVIOUS, OIDC_ONLY, ...local });
}

/** The folder of the local stack to manage. Null: the environment names another installation. */
export const localDirOf = (env: Variables, defaultDir: string = LOCAL_DATA_DIR): string | null =>
  !env.TIDEGATE_DATA_DIR && REQUIRED.every((name) => env[name] || env[`${name}_FILE`])
    ? null
    : resolve(env.TIDEGATE_DATA_DIR || defaultDir);

const parse = (variables: Variables): Config => loadConfig(schema, variables, { caller: callerOf });

/**
 * Null: there is no file.
 * @throws InstallationError if there is one that cannot be read
 */
function readFile(file: string): Variables | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    // What JSON.parse says quotes the file, which holds secrets.
    throw new InstallationError(`Cannot read ${file}: ${code ?? 'it is not JSON'}.`);
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
    `To manage another installation, set all of ${REQUIRED.join(', ')}, SERVICE_TOKEN if its limiter and runner ask for tokens, and REDIS_URL for ctl queue and ctl doctor. Do not set TIDEGATE_DATA_DIR.`,
    ...(set.length > 0 && missing.length > 0 ? [`Missing for that: ${missing.join(', ')}.`] : []),
  ].join('\n');
}
