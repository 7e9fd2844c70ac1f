import { LOCAL_POOL } from '@tidegate/contracts';
import {
  ConfigError,
  databaseUrl,
  flag,
  host,
  loadConfig,
  poolName,
  port,
  secret,
  secretKey,
  serviceFields,
  type Trust,
  trustByTokensOf,
  trustFields,
  type Variables,
  wholeNumber,
} from '@tidegate/runtime';
import { type TracingSettings, tracingFields, tracingOf } from '@tidegate/tracing';
import { z } from 'zod';
import type { ClusterAccess } from './drivers/kubernetes/connection.ts';
import { FLEET_TIMINGS } from './fleet/timings.ts';
import { modelEnv, VARIABLE_NAMES } from './isolation/model-env.ts';
import { chooseModelUser, type ModelUser } from './isolation/model-user.ts';

const NAMESPACES = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\s*,\s*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

export const schema = z.object({
  ...serviceFields(7_201),
  ...trustFields,
  ...tracingFields,
  RUNNER_HOST: host.describe('The host name or address to listen on'),
  RUNNER_PORT: port.default(7_200).describe('The port of `RUNNER_HOST`. 0 means any free one'),
  DATABASE_URL: secret(databaseUrl),
  RUNNER_POOL: poolName
    .default(LOCAL_POOL)
    .describe(
      'The [pool](models.md#pools) whose models this runner runs, unless another runner of the pool does',
    ),
  RUNNER_STATE_DIR: z
    .string()
    .describe('The folder for records of model processes. The runners of one machine share it'),
  SECRET_KEY: secret(secretKey),
  SECRET_KEY_PREVIOUS: secret(secretKey.optional()).describe(
    'The previous key, [while it is being replaced](secrets.md)',
  ),
  RUNNER_MODEL_HOST: z
    .string()
    .regex(/^([\w.-]+|\[[\da-fA-F:]+\])$/, 'must be a host name or an address')
    .default('127.0.0.1')
    .describe('Where gateways and the runner reach model processes'),
  RUNNER_MODEL_USER: z
    .string()
    .optional()
    .describe(
      'The user that model processes run as: `user` or `user:group`, names or numbers. Only a runner that runs as root can choose. Not set: uid 65522 if the runner runs as root, else that of the runner. `root`: as the runner ([what that means](models.md#whom-they-run-as))',
    ),
  RUNNER_MODEL_HOME: z
    .string()
    .startsWith('/', 'must be an absolute path')
    .optional()
    .describe("`HOME` of model processes. Not set: their user's, or else a folder beside the records"),
  RUNNER_MODEL_ENV: z
    .string()
    .regex(
      VARIABLE_NAMES,
      'must be names of variables, separated by commas; * at the end of a name stands for any ending',
    )
    .optional()
    .describe('Further variables of the runner that model processes get, such as `HF_TOKEN,VLLM_*`'),
  RUNNER_STOP_MODELS_ON_EXIT: flag.describe(
    'End model processes when the runner stops. Otherwise the next runner adopts them',
  ),
  RUNNER_MODEL_LOGS: flag.describe(
    'Keep what model processes print, beside their records. A model server may print prompts. `npm start` keeps it, in `.local`',
  ),
  RUNNER_MINIMUM_STAY_MS: wholeNumber(0, 40_000)
    .default(FLEET_TIMINGS.minimumStayMs)
    .describe('How long after its start a model is never put to sleep to make room for another one'),
  RUNNER_PROBE_TIMEOUT_MS: wholeNumber(100, 120_000)
    .default(FLEET_TIMINGS.drivers.probeTimeoutMs)
    .describe(
      'How long a probe of a model waits for its answer. The driver decides how many late answers make a model fail',
    ),
  RUNNER_KUBERNETES: z
    .string()
    .regex(/^(in-cluster|\/.+)$/, 'must be in-cluster, or the absolute path of a kubeconfig')
    .optional()
    .describe(
      "Lets models be [workloads of Kubernetes](models.md#workloads-of-kubernetes). `in-cluster`: with the service account of the runner's pod",
    ),
  RUNNER_KUBERNETES_NAMESPACES: z
    .string()
    .regex(NAMESPACES, 'must be names of namespaces, separated by commas')
    .optional()
    .describe('The only namespaces whose workloads may be models. Required with `RUNNER_KUBERNETES`'),
});

export type Config = z.output<typeof schema> & {
  readonly trust: Trust;
  /** Null: tracing is off. */
  readonly tracing: TracingSettings | null;
  readonly secretKeys: readonly Uint8Array[];
  /** The user that model processes run as, and their environment. */
  readonly modelUser: ModelUser;
  /** Null: models cannot be workloads of Kubernetes. */
  readonly kubernetes: KubernetesConfig | null;
};

export interface KubernetesConfig {
  readonly access: ClusterAccess;
  /** At least one. */
  readonly namespaces: ReadonlySet<string>;
}

/**
 * @param uid the user that the runner runs as
 * @throws ConfigError
 */
export function readConfig(env: Variables = process.env, uid = process.getuid?.()): Config {
  return loadConfig(schema, env, {
    trust: (config) => trustByTokensOf(config, 'callers of the runner get upstream keys'),
    tracing: tracingOf,
    secretKeys: ({ SECRET_KEY, SECRET_KEY_PREVIOUS }) =>
      SECRET_KEY_PREVIOUS ? [SECRET_KEY, SECRET_KEY_PREVIOUS] : [SECRET_KEY],
    modelUser: (config) => modelUserOf(config, env, uid),
    kubernetes: (config) => kubernetesOf(config, env),
  });
}

function modelUserOf(config: z.output<typeof schema>, env: Variables, uid: number | undefined): ModelUser {
  const { RUNNER_MODEL_USER: wanted, RUNNER_MODEL_HOME: home, RUNNER_STATE_DIR: stateDir } = config;
  const { user, env: ofUser } = chooseModelUser({ wanted, home, stateDir }, env, uid);
  return { user, env: { ...modelEnv(env, config.RUNNER_MODEL_ENV), ...ofUser } };
}

function kubernetesOf(
  { RUNNER_KUBERNETES: access, RUNNER_KUBERNETES_NAMESPACES: names }: z.output<typeof schema>,
  env: Variables,
): KubernetesConfig | null {
  if (access === undefined && names === undefined) return null;
  if (access === undefined)
    throw new ConfigError([
      { variable: 'RUNNER_KUBERNETES', reason: 'is missing, although RUNNER_KUBERNETES_NAMESPACES is set' },
    ]);
  if (names === undefined)
    throw new ConfigError([
      { variable: 'RUNNER_KUBERNETES_NAMESPACES', reason: 'is missing: RUNNER_KUBERNETES needs it' },
    ]);
  if (access === 'in-cluster' && !env.KUBERNETES_SERVICE_HOST)
    throw new ConfigError([
      { variable: 'RUNNER_KUBERNETES', reason: 'is in-cluster, but the runner is not in a pod' },
    ]);
  return { access, namespaces: new Set(names.split(',').map((name) => name.trim())) };
}
