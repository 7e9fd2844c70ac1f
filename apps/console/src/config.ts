import { parseSecretKey } from '@tidegate/contracts';
import { ConfigError, LOG_LEVELS, loadConfig, shutdownDelayMs } from '@tidegate/runtime';
import { z } from 'zod';

const MIN_AUTH_SECRET_CHARACTERS = 32;

const port = (fallback: number, min = 0) => z.coerce.number().int().min(min).max(65_535).default(fallback);
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' });
const address = z.string().regex(/^\S+:\d+$/, 'must be host:port');

const schema = z.object({
  CONSOLE_HOST: z.string().default('0.0.0.0'),
  CONSOLE_PORT: port(3_000, 1),
  /**
   * Where browsers find the console. With https, cookies are secure and browsers are told to use
   * only https.
   */
  CONSOLE_URL: httpUrl.transform((url) => new URL(url).origin),
  ADMIN_HOST: z.string().default('127.0.0.1'),
  ADMIN_PORT: port(9_300),
  SHUTDOWN_DELAY_MS: shutdownDelayMs,
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  LIMITER_ADDRESSES: z
    .string()
    .transform((text) => text.split(',').map((each) => each.trim()))
    .pipe(z.array(address).min(1)),
  RUNNER_ADDRESS: address,
  /** Base URL of the API for callers, ending in /v1. Quick starts show it. */
  GATEWAY_PUBLIC_URL: httpUrl.transform((url) => url.replace(/\/+$/, '')),
  /** Base URL of the API for this server. Default: the public one. */
  GATEWAY_URL: httpUrl.transform((url) => url.replace(/\/+$/, '')).optional(),
  /** Signs cookies. */
  AUTH_SECRET: z.string().min(MIN_AUTH_SECRET_CHARACTERS, 'must have 32 characters or more'),
  /** Seals upstream keys for the runner. */
  SECRET_KEY: z.string().transform((setting, context) => {
    const key = parseSecretKey(setting);
    if (key) return key;
    context.addIssue({ code: 'custom', message: 'must be 32 bytes in base64' });
    return z.NEVER;
  }),
  /** How many proxies in front of the console write X-Forwarded-For. */
  TRUSTED_PROXIES: z.coerce.number().int().min(0).default(0),
  /** Sign-in with an identity provider. Set all three of issuer, client id and secret, or none. */
  OIDC_ISSUER: httpUrl.transform((url) => url.replace(/\/+$/, '')).optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  /** The button says "Sign in with" and this name. */
  OIDC_NAME: z.string().max(40).default('single sign-on'),
});

export type Config = z.output<typeof schema>;

export interface Oidc {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly name: string;
}

/** @throws ConfigError */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): Config {
  const config = loadConfig(schema, env);
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET } = config;
  const oidc = { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET };
  const missing = Object.entries(oidc).filter(([, value]) => value === undefined);
  if (missing.length > 0 && missing.length < Object.keys(oidc).length)
    throw new ConfigError(missing.map(([variable]) => ({ variable, reason: 'is not set' })));
  return config;
}

/** Null: no identity provider is configured. */
export function oidcOf(config: Config): Oidc | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = config;
  if (!issuer || !clientId || !clientSecret) return null;
  return { issuer, clientId, clientSecret, name: config.OIDC_NAME };
}
