import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { redisUrl } from '@tidegate/redis';
import { z } from 'zod';

/** Written by the local stack of this checkout. */
const LOCAL_STACK_ENV = fileURLToPath(new URL('../../../.local/env.json', import.meta.url));
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

/**
 * From the environment when DATABASE_URL is set there, else from the local stack's file: never a mixture, which could be two
 * installations. Throws ConfigError.
 */
export function readConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
  file: string = LOCAL_STACK_ENV,
): Config {
  const parsed = schema.safeParse(env.DATABASE_URL ? env : readFile(file));
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) => `  ${String(path[0])}: ${message}`);
  throw new ConfigError(`Bad configuration:\n${lines.join('\n')}`);
}

function readFile(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw new ConfigError(
      'No installation is known: start the local stack (npm start), or set DATABASE_URL, REDIS_URL, LIMITER_ADDRESSES, RUNNER_ADDRESS and SECRET_KEY.',
    );
  }
}
