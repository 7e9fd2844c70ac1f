import { randomBytes } from 'node:crypto';
import { CALLER_NAMES, type CallerName } from '@tidegate/contracts';
import { DATABASE_SERVICES, type DatabaseService } from '@tidegate/db';
import { type Files, readJson, writeJson } from './files.ts';
import { REDIS_USERS, type RedisUser } from './stores/redis-users.ts';

/**
 * Secrets that the local stack must remember, because the product does not keep them in the clear.
 */
export interface Secrets {
  readonly owner: { readonly email: string; readonly password: string };
  /** Seals upstream keys. 32 bytes in base64. */
  readonly secretKey: string;
  /** Signs the console's cookies. */
  readonly authSecret: string;
  /** The tokens with which services prove who they are. */
  readonly serviceTokens: Readonly<Record<CallerName, string>>;
  /** The passwords with which services log in to the stack's own Postgres. */
  readonly databasePasswords: Readonly<Record<DatabaseService, string>>;
  /** The passwords with which the operator and services log in to the stack's own Redis. */
  readonly redisPasswords: Readonly<Record<RedisUser, string>>;
  /** The demo organization. Null until it is created. */
  readonly demo: Demo | null;
}

export interface Demo {
  readonly org: string;
  /** Its key's value. */
  readonly apiKey: string;
  /** The URLs and commands that its models were given. Not set until all of them are published. */
  readonly standins?: readonly string[] | undefined;
}

export function loadSecrets({ secrets }: Files): Secrets {
  const known = readJson(secrets) as Partial<Secrets> | null;
  // Secrets that an older checkout did not have are created now.
  const made: Secrets = {
    owner: { email: 'owner@demo.local', password: randomBytes(12).toString('base64url') },
    secretKey: randomBytes(32).toString('base64'),
    authSecret: newSecret(),
    demo: null,
    ...known,
    serviceTokens: { ...newSecrets(CALLER_NAMES), ...known?.serviceTokens },
    databasePasswords: { ...newSecrets(DATABASE_SERVICES), ...known?.databasePasswords },
    redisPasswords: { ...newSecrets(REDIS_USERS), ...known?.redisPasswords },
  };
  writeJson(secrets, made);
  return made;
}

const newSecret = (): string => randomBytes(32).toString('base64url');

const newSecrets = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, newSecret()])) as Record<Name, string>;

export function rememberDemo(files: Files, demo: Demo): Secrets {
  const secrets = { ...loadSecrets(files), demo };
  writeJson(files.secrets, secrets);
  return secrets;
}
