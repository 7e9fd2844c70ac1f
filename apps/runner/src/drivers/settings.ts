import { z } from 'zod';

const healthPath = z.string().startsWith('/').max(1_024);

const processSettings = z.object({
  /** Runs in /bin/sh. `$PORT` and `${PORT}` are replaced by the port to listen on. */
  command: z.string().min(1).max(16_384),
  /** Answers 2xx once the model is ready. */
  healthPath: healthPath.default('/health'),
  startTimeoutS: z.number().int().min(1).max(86_400).default(600),
});

const externalSettings = z.object({
  urls: z
    .array(z.url({ protocol: /^https?$/ }).refine((url) => url.endsWith('/v1')))
    .min(1)
    .max(64),
  /**
   * Probed instead of `{url}/models`. Any answer below 500 is healthy; key and names are not
   * checked.
   */
  healthPath: healthPath.optional(),
});

export type ProcessSettings = z.output<typeof processSettings>;
export type ExternalSettings = z.output<typeof externalSettings>;

export type DriverSettings =
  | { readonly driver: 'process'; readonly settings: ProcessSettings }
  | { readonly driver: 'external'; readonly settings: ExternalSettings }
  | { readonly driver: 'unusable'; readonly reason: string };

/** Reads a model's driver from its row. The reason names fields, never their values. */
export function parseSettings(driver: string, settings: unknown): DriverSettings {
  if (driver === 'process') {
    const parsed = processSettings.safeParse(settings);
    return parsed.success ? { driver, settings: parsed.data } : unusable(driver, parsed.error);
  }
  if (driver === 'external') {
    const parsed = externalSettings.safeParse(settings);
    return parsed.success ? { driver, settings: parsed.data } : unusable(driver, parsed.error);
  }
  return { driver: 'unusable', reason: 'This runner has no such driver.' };
}

function unusable(driver: string, error: z.ZodError): DriverSettings {
  const fields = [...new Set(error.issues.map(({ path }) => String(path[0] ?? 'settings')))].join(', ');
  return { driver: 'unusable', reason: `The settings of its ${driver} driver are not valid: ${fields}.` };
}
