import {
  MAX_REPLICAS,
  MAX_START_TIMEOUT_S,
  type StoredDriver,
  WORKLOAD_KINDS,
} from '@tidegate/contracts/driver-settings';
import { z } from 'zod';
import { choice, orgField, poolField, reference, text, wholeBetween } from '../fields.ts';
import { ok, type Result, refuse } from '../result.ts';

const MAX_CONTEXT_TOKENS = 16_777_216;
const MAX_SLEEP_AFTER_S = 30 * 86_400;
const DEFAULT_SLEEP_AFTER_S = 600;
/** Of a pool, in whatever unit the operator chooses. */
export const MAX_CAPACITY = 1_000_000_000;
const NAME_RULE =
  'Give it a name of 1 to 128 characters: a letter or digit first, then letters, digits and any of . _ : / -';
const URLS_RULE = `Give 1 to ${MAX_REPLICAS} different addresses that start with http:// or https://, without a user, a query or a fragment.`;
const WORKLOAD_RULE =
  'Kubernetes must be namespace/deployment, namespace/deployment/NAME or namespace/statefulset/NAME.';
const HEALTH_PATH_RULE = 'Health path must begin with one / and have no spaces.';
const UPSTREAM_KEY_RULE = 'The upstream key must be 1 to 4,096 printable characters without spaces.';
const SERVICE_RULE = 'Service must be the name of a Service, or name:port with a port of its endpoints.';
const K8S_NAME = '[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?';
const WORKLOAD = new RegExp(`^(${K8S_NAME})/(?:(${WORKLOAD_KINDS.join('|')})/)?(${K8S_NAME})$`);
const SERVICE = new RegExp(`^(${K8S_NAME})(?::([a-z0-9-]{1,63}))?$`);

/** The settings that can be changed while a model is published. */
const settings = {
  contextTokens: wholeBetween('Context length', 1, MAX_CONTEXT_TOKENS),
  /** Each URL is turned into the base URL of its API. */
  urls: z
    .array(z.string({ error: URLS_RULE }).max(2_048, { error: URLS_RULE }), { error: URLS_RULE })
    .min(1, { error: URLS_RULE })
    .max(MAX_REPLICAS, { error: URLS_RULE })
    .transform((urls) => urls.map(baseUrlOf))
    .refine((bases) => !bases.includes(null) && new Set(bases).size === bases.length, { error: URLS_RULE })
    .transform((bases) => bases as string[]),
  command: text('Command', 8_192),
  service: z.string({ error: SERVICE_RULE }).regex(SERVICE, { error: SERVICE_RULE }).transform(serviceOf),
  replicas: wholeBetween('Replicas', 1, MAX_REPLICAS),
  healthPath: z
    .string({ error: HEALTH_PATH_RULE })
    .regex(/^\/(?![/\\])[!-~]{0,255}$/, { error: HEALTH_PATH_RULE }),
  startTimeoutS: wholeBetween('Start timeout', 1, MAX_START_TIMEOUT_S),
  upstreamModel: text('Upstream model', 256),
  upstreamKey: z.string({ error: UPSTREAM_KEY_RULE }).regex(/^[!-~]{1,4096}$/, { error: UPSTREAM_KEY_RULE }),
  sleepAfterS: wholeBetween('Idle time', 1, MAX_SLEEP_AFTER_S),
  pool: poolField('Pool'),
  cost: wholeBetween('Cost', 0, MAX_CAPACITY),
  pinned: z.boolean({ error: 'Pinned must be true or false.' }),
};

export const publishInput = z.object({
  org: orgField,
  name: z.string({ error: NAME_RULE }).regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/, { error: NAME_RULE }),
  kind: choice('Kind', ['text', 'vision']),
  mode: choice('Mode', ['always_on', 'wake_on_request']),
  contextTokens: settings.contextTokens,
  urls: settings.urls.optional(),
  command: settings.command.optional(),
  kubernetes: z
    .string({ error: WORKLOAD_RULE })
    .regex(WORKLOAD, { error: WORKLOAD_RULE })
    .transform(workloadOf)
    .optional(),
  service: settings.service.optional(),
  replicas: settings.replicas.optional(),
  healthPath: settings.healthPath.optional(),
  startTimeoutS: settings.startTimeoutS.optional(),
  upstreamModel: settings.upstreamModel.optional(),
  upstreamKey: settings.upstreamKey.optional(),
  sleepAfterS: settings.sleepAfterS.default(DEFAULT_SLEEP_AFTER_S),
  pool: settings.pool.optional(),
  cost: settings.cost.optional(),
  pinned: settings.pinned.optional(),
  /** Publishes a workload although its check found a problem that may pass. */
  anyway: z.boolean({ error: 'Anyway must be true or false.' }).optional(),
});
export type PublishModelInput = z.input<typeof publishInput>;
export type PublishSettings = z.output<typeof publishInput>;

export const modelInput = z.object({ org: orgField, name: reference('Name') });
export type ModelInput = z.input<typeof modelInput>;

/** What is absent stays as it is. Null removes a setting. */
export const changeInput = modelInput.extend({
  contextTokens: settings.contextTokens.optional(),
  urls: settings.urls.optional(),
  command: settings.command.optional(),
  service: settings.service.optional(),
  replicas: settings.replicas.optional(),
  healthPath: settings.healthPath.nullable().optional(),
  startTimeoutS: settings.startTimeoutS.nullable().optional(),
  upstreamModel: settings.upstreamModel.nullable().optional(),
  upstreamKey: settings.upstreamKey.nullable().optional(),
  sleepAfterS: settings.sleepAfterS.optional(),
  pool: settings.pool.optional(),
  cost: settings.cost.optional(),
  pinned: settings.pinned.optional(),
});
export type ChangeModelInput = z.input<typeof changeInput>;
export type ChangedSettings = z.output<typeof changeInput>;

export const listInput = z.object({
  org: orgField,
  /**
   * False: do not ask the runner about activity. That may take time while the runner is
   * unavailable.
   */
  activity: z.boolean({ error: 'Activity must be true or false.' }).default(true),
});
export type ListModelsInput = z.input<typeof listInput>;

/**
 * The input must have exactly one of URLs, a command and a Kubernetes workload. A model at URLs
 * cannot be woken.
 */
export function driverOf(input: PublishSettings): Result<StoredDriver> {
  const { urls, command, kubernetes, mode } = input;
  const ways = [urls, command, kubernetes].filter((way) => way !== undefined);
  if (ways.length !== 1) {
    return refuse(
      'invalid_input',
      'Give one of these: URLs (a model run by someone else), a command (run here), or a Kubernetes workload.',
      'urls',
    );
  }
  const { healthPath, startTimeoutS, service, replicas, anyway } = input;
  if (kubernetes !== undefined) {
    const settings = {
      ...kubernetes,
      ...(service ?? { service: kubernetes.name }),
      ...given({ replicas, healthPath, startTimeoutS }),
    };
    return ok({ driver: 'kubernetes', settings });
  }
  if (service !== undefined || replicas !== undefined) {
    const field = service === undefined ? 'replicas' : 'service';
    return refuse('invalid_input', ONLY_FOR_WORKLOADS, field);
  }
  if (anyway !== undefined) return refuse('invalid_input', ANYWAY_FOR_WORKLOADS, 'anyway');
  if (command !== undefined)
    return ok({ driver: 'process', settings: { command, ...given({ healthPath, startTimeoutS }) } });
  if (mode !== 'always_on') {
    return refuse(
      'invalid_input',
      'A model at URLs is always on: only a command or a workload can be started and stopped.',
      'mode',
    );
  }
  if (startTimeoutS !== undefined) return refuse('invalid_input', NO_START_TIMEOUT, 'startTimeoutS');
  return ok({ driver: 'external', settings: { urls: urls ?? [], ...given({ healthPath }) } });
}

const ANYWAY_FOR_WORKLOADS =
  'Anyway is only for a Kubernetes workload: nothing else is refused because of a check.';
export const ONLY_FOR_WORKLOADS = 'Service and replicas are only for a Kubernetes workload.';
export const NO_START_TIMEOUT = 'A model at URLs has no start timeout: someone else starts it.';

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Leaves out what is undefined. */
const given = <T extends object>(fields: T): Given<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;

function workloadOf(text: string) {
  const [, namespace = '', kind, name = ''] = WORKLOAD.exec(text) ?? [];
  return { namespace, kind: WORKLOAD_KINDS.find((known) => known === kind) ?? 'deployment', name } as const;
}

/** Without a port, the Service must have only one. */
function serviceOf(text: string) {
  const [, service = '', port] = SERVICE.exec(text) ?? [];
  return { service, ...given({ port }) };
}

/**
 * The base URL of an upstream's API. Appends `/v1` if it is missing. Null: the URL is not usable.
 */
export function baseUrlOf(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol)) return null;
  if (url.username || url.password || url.search || url.hash) return null;
  const path = url.pathname.replace(/\/+$/, '');
  return url.origin + (path.endsWith('/v1') ? path : `${path}/v1`);
}
