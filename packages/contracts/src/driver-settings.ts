import { z } from 'zod';

/*
 * How a model runs, as its row stores it: the driver's name, and the settings of that driver.
 * `packages/control` writes them, and the runner reads them.
 */

export const MAX_REPLICAS = 64;
export const MAX_START_TIMEOUT_S = 86_400;
export const DEFAULT_START_TIMEOUT_S = 600;

/** For a command that was given no health path. */
export const DEFAULT_HEALTH_PATH = '/health';

const healthPath = z.string().startsWith('/').max(1_024);
const startTimeoutS = z.number().int().min(1).max(MAX_START_TIMEOUT_S).default(DEFAULT_START_TIMEOUT_S);
/** A name that Kubernetes accepts for most kinds of objects. */
const kubernetesName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);

/** The kinds of workloads that can be scaled, as they are written in their API's path. */
export const WORKLOAD_KINDS = ['deployment', 'statefulset'] as const;

export const driverSettings = {
  process: z.object({
    /** Runs in /bin/sh. `$PORT` and `${PORT}` are replaced by the port to listen on. */
    command: z.string().min(1).max(16_384),
    /**
     * Answers 2xx once the model is ready. Absent: `DEFAULT_HEALTH_PATH`. If a path is given, its
     * answer is enough: the server needs no list of models.
     */
    healthPath: healthPath.optional(),
    startTimeoutS,
  }),
  external: z.object({
    /** Base URLs of the API. */
    urls: z
      .array(z.url({ protocol: /^https?$/ }).refine((url) => url.endsWith('/v1')))
      .min(1)
      .max(MAX_REPLICAS),
    /**
     * Probed before `{url}/models`. No answer, 401, 403, 404, and 500 and above count against the
     * server. If a path is given, the list may be missing, and names are not looked for in it.
     */
    healthPath: healthPath.optional(),
  }),
  kubernetes: z.object({
    namespace: kubernetesName,
    kind: z.enum(WORKLOAD_KINDS),
    name: kubernetesName,
    /** The Service whose endpoints are the replicas. */
    service: kubernetesName,
    /** A port of its endpoints, by name or number. Absent: their only one. */
    port: z.string().max(63).optional(),
    /** What the workload's replica count is set to if it is 0 when the model starts. */
    replicas: z.number().int().min(1).max(MAX_REPLICAS).default(1),
    /** As for `external`. */
    healthPath: healthPath.optional(),
    startTimeoutS,
  }),
};

type Schemas = typeof driverSettings;
type DriverName = keyof Schemas;

/** What may be written to a row. */
export type StoredDriver = {
  [D in DriverName]: { readonly driver: D; readonly settings: Readonly<z.input<Schemas[D]>> };
}[DriverName];

/** What is read from a row, with defaults filled in. */
export type ProcessSettings = z.output<Schemas['process']>;
export type ExternalSettings = z.output<Schemas['external']>;
export type KubernetesSettings = z.output<Schemas['kubernetes']>;
