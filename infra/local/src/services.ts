import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseService } from '@tidegate/db';
import type { Files } from './files.ts';
import { gatewayUrl, HOST, type Instance, type ServiceName } from './instances.ts';
import type { ModelsPlace } from './models-place.ts';
import type { Secrets } from './secrets.ts';
import type { RedisUser } from './stores/redis-users.ts';

/** Everything that the services' variables are made from. */
export interface Layout {
  readonly root: string;
  readonly files: Files;
  readonly models: ModelsPlace;
  readonly secrets: Secrets;
  readonly stores: Stores;
  readonly instances: readonly Instance[];
}

/** Where the stores are. */
export interface Stores {
  /** With all rights. */
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** With the rights of one service, if the stack runs the store itself. */
  readonly databaseUrlFor: (service: DatabaseService) => string;
  readonly redisUrlFor: (service: RedisUser) => string;
}

export interface ServiceKind {
  readonly name: ServiceName;
  /** The arguments after `node`. Paths are relative to the checkout's root. */
  readonly args: (instance: Instance, layout: Layout) => string[];
  readonly env: (instance: Instance, layout: Layout) => Record<string, string>;
  /** The secrets that it may have from the launcher's environment. */
  readonly secrets: readonly string[];
  /** It serves people or clients. Started last, when the models are up. */
  readonly isPublic: boolean;
  /** How long a process may take to stop. */
  readonly stopTimeoutMs: number;
}

/** The secrets that collectors of traces ask for. */
const TRACING_SECRETS = ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'];
/** The variables of all programs that hold a secret or a login. Each has a form with _FILE, too. */
const SECRETS = new Set([
  ...TRACING_SECRETS,
  'AUTH_SECRET',
  'AUTH_SECRET_PREVIOUS',
  'BOOTSTRAP_PASSWORD',
  'DATABASE_URL',
  'OIDC_CLIENT_SECRET',
  'REDIS_URL',
  'SECRET_KEY',
  'SECRET_KEY_PREVIOUS',
  'SERVICE_DATABASE_PASSWORDS',
  'SERVICE_TOKEN',
  'SERVICE_TOKENS',
]);
/**
 * How long a gateway may finish its answers when the stack stops. Then it is killed, and the next
 * start settles what it left. A gateway that is ended otherwise may take its usual time.
 */
const DRAIN_MS = 5_000;
const STOP_TIMEOUT_MS = 10_000;
/**
 * Requests are short-lived objects. A larger nursery saves busy services a tenth of their CPU time.
 */
const LARGE_NURSERY = '--max-semi-space-size=32';

export const addressesOf = ({ instances }: Layout, service: ServiceName): string =>
  instances
    .filter((instance) => instance.service === service)
    .map(({ port }) => `${HOST}:${port}`)
    .join(',');

/** The form in which gRPC takes several addresses. If one is unavailable, it uses the next. */
export const anyOf = (layout: Layout, service: ServiceName): string => {
  const addresses = addressesOf(layout, service);
  return addresses.includes(',') ? `ipv4:${addresses}` : addresses;
};

/** The form in which limiter and runner take the tokens. */
const tokensOf = ({ serviceTokens }: Secrets): string =>
  Object.entries(serviceTokens)
    .map(([service, token]) => `${service}:${token}`)
    .join(',');

const app = (name: ServiceName) => () => [join('apps', name, 'dist/main.js')];

/** In the order of their start. They are stopped in reverse. */
const SERVICES: readonly ServiceKind[] = [
  {
    name: 'runner',
    args: app('runner'),
    env: ({ port }, { files, models, secrets, stores }) => ({
      RUNNER_HOST: HOST,
      RUNNER_PORT: String(port),
      DATABASE_URL: stores.databaseUrlFor('runner'),
      RUNNER_STATE_DIR: files.runner,
      RUNNER_MODEL_LOGS: 'true',
      SECRET_KEY: secrets.secretKey,
      SERVICE_TOKENS: tokensOf(secrets),
      ...models.settings,
    }),
    secrets: [...TRACING_SECRETS, 'SECRET_KEY_PREVIOUS'],
    isPublic: false,
    stopTimeoutMs: STOP_TIMEOUT_MS,
  },
  {
    name: 'limiter',
    args: app('limiter'),
    env: ({ port }, { secrets, stores }) => ({
      LIMITER_HOST: HOST,
      NODE_OPTIONS: LARGE_NURSERY,
      LIMITER_PORT: String(port),
      DATABASE_URL: stores.databaseUrlFor('limiter'),
      REDIS_URL: stores.redisUrlFor('limiter'),
      SERVICE_TOKENS: tokensOf(secrets),
    }),
    secrets: TRACING_SECRETS,
    isPublic: false,
    stopTimeoutMs: STOP_TIMEOUT_MS,
  },
  {
    name: 'metering',
    args: app('metering'),
    env: (_instance, layout) => ({
      DATABASE_URL: layout.stores.databaseUrlFor('metering'),
      REDIS_URL: layout.stores.redisUrlFor('metering'),
      LIMITER_ADDRESSES: addressesOf(layout, 'limiter'),
      SERVICE_TOKEN: layout.secrets.serviceTokens.metering,
    }),
    secrets: TRACING_SECRETS,
    isPublic: false,
    stopTimeoutMs: STOP_TIMEOUT_MS,
  },
  {
    name: 'gateway',
    args: app('gateway'),
    env: ({ port }, layout) => ({
      GATEWAY_HOST: HOST,
      NODE_OPTIONS: LARGE_NURSERY,
      GATEWAY_PORT: String(port),
      LIMITER_ADDRESSES: addressesOf(layout, 'limiter'),
      RUNNER_ADDRESS: anyOf(layout, 'runner'),
      SERVICE_TOKEN: layout.secrets.serviceTokens.gateway,
    }),
    secrets: TRACING_SECRETS,
    isPublic: true,
    stopTimeoutMs: DRAIN_MS,
  },
  {
    name: 'console',
    args: app('console'),
    env: ({ port }, layout) => ({
      CONSOLE_HOST: HOST,
      CONSOLE_PORT: String(port),
      CONSOLE_URL: `http://${HOST}:${port}`,
      DATABASE_URL: layout.stores.databaseUrlFor('console'),
      LIMITER_ADDRESSES: addressesOf(layout, 'limiter'),
      RUNNER_ADDRESS: anyOf(layout, 'runner'),
      GATEWAY_PUBLIC_URL:
        layout.instances.filter(({ service }) => service === 'gateway').map(gatewayUrl)[0] ?? '',
      AUTH_SECRET: layout.secrets.authSecret,
      SECRET_KEY: layout.secrets.secretKey,
      SERVICE_TOKEN: layout.secrets.serviceTokens.console,
    }),
    secrets: ['AUTH_SECRET_PREVIOUS', 'OIDC_CLIENT_SECRET'],
    isPublic: true,
    stopTimeoutMs: STOP_TIMEOUT_MS,
  },
];

/** The services whose program is in this checkout. */
export const servicesOf = (root: string): readonly ServiceKind[] =>
  SERVICES.filter(({ name }) => existsSync(join(root, 'apps', name, 'package.json')));

/** The variables of one process: the common ones and its own. */
export function environmentOf(kind: ServiceKind, instance: Instance, layout: Layout): Record<string, string> {
  return {
    ...inherited(process.env, kind.secrets),
    NODE_ENV: 'production',
    ADMIN_HOST: HOST,
    ADMIN_PORT: String(instance.adminPort),
    ...kind.env(instance, layout),
  };
}

/**
 * This process's environment, without the variables of the tools that started it, without other
 * installations' certificates, and without the product's secrets, except these. Models may need the
 * rest (CUDA_VISIBLE_DEVICES, HF_HOME, ...).
 */
export function inherited(
  env: NodeJS.ProcessEnv = process.env,
  secrets: readonly string[] = [],
): Record<string, string> {
  const entries = Object.entries(env).filter((entry): entry is [string, string] => {
    const [name, value] = entry;
    const plain = name.replace(/_FILE$/, '');
    return (
      value !== undefined &&
      !/^(npm_|JEST_|NODE_OPTIONS$|TIDEGATE_TEST_|GRPC_TLS_)/.test(name) &&
      (!SECRETS.has(plain) || secrets.includes(plain))
    );
  });
  return Object.fromEntries(entries);
}
