import { z } from 'zod';

/*
 * How a model runs, as its row stores it: the driver's name, and the settings of that driver. The
 * control plane writes them, and the runner reads them.
 */

export const MAX_REPLICAS = 64;
export const MAX_START_TIMEOUT_S = 86_400;

const healthPath = z.string().startsWith('/').max(1_024);

export const driverSettings = {
  process: z.object({
    /** Runs in /bin/sh. `$PORT` and `${PORT}` are replaced by the port to listen on. */
    command: z.string().min(1).max(16_384),
    /** Answers 2xx once the model is ready. */
    healthPath: healthPath.default('/health'),
    startTimeoutS: z.number().int().min(1).max(MAX_START_TIMEOUT_S).default(600),
  }),
  external: z.object({
    /** Base URLs of the API. */
    urls: z
      .array(z.url({ protocol: /^https?$/ }).refine((url) => url.endsWith('/v1')))
      .min(1)
      .max(MAX_REPLICAS),
    /**
     * Probed instead of `{url}/models`. Any answer below 500 is healthy; key and names are not
     * checked.
     */
    healthPath: healthPath.optional(),
  }),
};

type Schemas = typeof driverSettings;
type DriverName = keyof Schemas;

/** What a row takes. */
export type StoredDriver = {
  [D in DriverName]: { readonly driver: D; readonly settings: Readonly<z.input<Schemas[D]>> };
}[DriverName];

/** What a row says, with defaults filled in. */
export type ProcessSettings = z.output<Schemas['process']>;
export type ExternalSettings = z.output<Schemas['external']>;
