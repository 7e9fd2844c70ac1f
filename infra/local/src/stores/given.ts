import { checkPostgres } from '@tidegate/db';
import { checkRedis, parseRedisUrl } from '@tidegate/redis';
import { ConfigError, readSecretFiles, secret, type Variables } from '@tidegate/runtime';
import { z } from 'zod';
import { StackError } from '../errors.ts';

const CHECK_TIMEOUT_MS = 5_000;

const schema = z.object({ DATABASE_URL: secret(z.string()), REDIS_URL: secret(z.string()) });

export interface GivenStores {
  readonly databaseUrl?: string | undefined;
  readonly redisUrl?: string | undefined;
}

/**
 * The stores that someone else runs: those of the options, or else of the environment.
 * @throws StackError
 */
export function givenStores(options: GivenStores, env: Variables = process.env): GivenStores {
  try {
    const { DATABASE_URL, REDIS_URL } = readSecretFiles(schema, env);
    return { databaseUrl: options.databaseUrl ?? DATABASE_URL, redisUrl: options.redisUrl ?? REDIS_URL };
  } catch (error) {
    throw error instanceof ConfigError ? new StackError(error.message) : error;
  }
}

/**
 * Checks a database that someone else runs, before anything is started on it.
 * @throws StackError that names the variable
 */
export async function checkDatabaseUrl(url: string, timeoutMs = CHECK_TIMEOUT_MS): Promise<void> {
  const hint = hintFor('DATABASE_URL', 'Postgres', 'postgresql://user:password@host:5432/database');
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !/^postgres(ql)?:$/.test(parsed.protocol))
    throw new StackError('DATABASE_URL is not the address of a Postgres server.', { hint });
  await checkPostgres(url, timeoutMs).catch((cause: Error) => {
    const why = cause.message === 'timeout expired' ? silence(timeoutMs) : cause.message;
    throw unreachable('DATABASE_URL', 'Postgres', parsed.host || 'its socket', why, hint);
  });
}

/** Checks a Redis, as `checkDatabaseUrl` checks a database. @returns a warning, if there is one */
export async function checkRedisUrl(
  url: string,
  timeoutMs = CHECK_TIMEOUT_MS,
): Promise<{ warning?: string }> {
  const hint = hintFor('REDIS_URL', 'Redis', 'redis://user:password@host:6379');
  const where = addressesIn(url, hint);
  const { appendOnly, tooOld } = await checkRedis(url, timeoutMs).catch((cause: Error) => {
    const why = cause.message.startsWith('no answer') ? silence(timeoutMs) : cause.message;
    throw unreachable('REDIS_URL', 'Redis', where, why, hint);
  });
  if (tooOld !== null)
    throw new StackError(`REDIS_URL: ${tooOld}`, {
      hint: 'To use the built-in Redis instead, unset REDIS_URL.',
    });
  if (appendOnly !== false) return {};
  return {
    warning: `The Redis in REDIS_URL keeps no append-only file: when it stops, live limits and unwritten usage are lost. Set "appendonly yes".`,
  };
}

function addressesIn(url: string, hint: string): string {
  try {
    const target = parseRedisUrl(url);
    if (target.kind === 'single') return new URL(target.url).host;
    return target.addresses.map(({ host, port }) => `${host}:${port}`).join(', ');
  } catch (cause) {
    throw new StackError(`REDIS_URL ${(cause as Error).message}.`, { hint, cause });
  }
}

/**
 * The client's error is not kept as the cause: it may contain settings, and the password with them.
 */
const unreachable = (variable: string, store: string, where: string, why: string, hint: string): StackError =>
  new StackError(`${variable}: no connection to ${store} at ${where}: ${why}`, { hint });

const silence = (timeoutMs: number): string => `no answer within ${timeoutMs / 1000} s`;

const hintFor = (variable: string, store: string, example: string): string =>
  `Start that ${store} or correct ${variable} (${example}).\nTo use the built-in ${store} instead, unset ${variable}.`;
