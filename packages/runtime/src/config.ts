import { z } from 'zod';

const MAX_SHUTDOWN_DELAY_MS = 3_600_000;

/** The schema of SHUTDOWN_DELAY_MS in a configuration, for `Service.configure`. */
export const shutdownDelayMs = z.coerce.number().int().min(0).max(MAX_SHUTDOWN_DELAY_MS).default(0);

/** The environment is invalid. The message names every bad variable and shows no value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly variables: readonly string[];

  constructor(issues: readonly { readonly variable: string; readonly reason: string }[]) {
    super(
      `Bad configuration:\n${issues.map(({ variable, reason }) => `  ${variable}: ${reason}`).join('\n')}`,
    );
    this.variables = [...new Set(issues.map(({ variable }) => variable))];
  }
}

/**
 * Parses a service's environment variables once, at its start. An empty variable counts as not set.
 * Variables that the schema does not name are ignored.
 * @throws ConfigError
 */
export function loadConfig<S extends z.ZodObject>(
  schema: S,
  env: Readonly<Record<string, string | undefined>> = process.env,
): z.output<S> {
  const set = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = schema.safeParse(set);
  if (parsed.success) return parsed.data;
  throw new ConfigError(
    parsed.error.issues.map(({ path, message }) => {
      const variable = String(path[0] ?? 'environment');
      return { variable, reason: variable in set || path.length === 0 ? message : 'is not set' };
    }),
  );
}
