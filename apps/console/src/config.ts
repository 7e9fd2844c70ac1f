import { DEADLINES, type Deadlines } from '@tidegate/control';
import { DAY_MS, HOUR_MS } from '@tidegate/limits';
import {
  addresses,
  ConfigError,
  callerFields,
  callerOf,
  databaseUrl,
  durationMs,
  flag,
  host,
  loadConfig,
  poolAddresses,
  type ServiceIdentity,
  secret,
  secretKey,
  serviceFields,
  trustedProxies,
  type Variables,
  wholeNumber,
} from '@tidegate/runtime';
import { z } from 'zod';

const MIN_AUTH_SECRET_CHARACTERS = 32;
const authSecret = z.string().min(MIN_AUTH_SECRET_CHARACTERS, 'must have 32 characters or more');
const WEEK_MS = 7 * DAY_MS;
/** The last use of a session is known to the minute. */
const MIN_IDLE_MS = 5 * 60_000;

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' });

export const schema = z.object({
  ...serviceFields(9_300),
  ...callerFields,
  CONSOLE_HOST: host.default('0.0.0.0').describe('The host name or address to listen on'),
  /** Not 0: the screens' server must know the port before it listens. */
  CONSOLE_PORT: wholeNumber(1, 65_535).default(3_000).describe('The port of `CONSOLE_HOST`'),
  CONSOLE_URL: httpUrl
    .transform((url) => new URL(url).origin)
    .describe(
      'Where browsers find the console. With https, cookies are secure and browsers are told to use only https',
    ),
  DATABASE_URL: secret(databaseUrl),
  LIMITER_ADDRESSES: addresses,
  RUNNER_ADDRESS: poolAddresses,
  GATEWAY_PUBLIC_URL: httpUrl
    .transform((url) => url.replace(/\/+$/, ''))
    .describe('Base URL of the API for callers, ending in `/v1`. Quick starts show it'),
  GATEWAY_URL: httpUrl
    .transform((url) => url.replace(/\/+$/, ''))
    .optional()
    .describe("Base URL at which the console's server reaches the API. Not set: `GATEWAY_PUBLIC_URL`"),
  AUTH_SECRET: secret(authSecret).describe('Signs cookies and encrypts second factors'),
  AUTH_SECRET_PREVIOUS: secret(authSecret.optional()).describe(
    'The previous secret, [until its sessions are over](secrets.md)',
  ),
  SECRET_KEY: secret(secretKey),
  TRUSTED_PROXIES: trustedProxies,
  SESSION_IDLE_TIMEOUT_MS: wholeNumber(MIN_IDLE_MS, WEEK_MS)
    .default(8 * HOUR_MS)
    .describe('A session that is not used for this long ends. No session lasts longer than 7 days'),
  LIVE_COUNTS_TIMEOUT_MS: durationMs
    .default(DEADLINES.shownMs)
    .describe(
      'How long a page waits for live counts from limiters and runners, such as requests in flight. After that, it is shown without them',
    ),
  CHANGE_TIMEOUT_MS: durationMs
    .default(DEADLINES.limiterMs)
    .describe(
      'How long a change waits for a limiter to learn of it. After that, the console says that the change is not in force yet',
    ),
  OIDC_ISSUER: httpUrl
    .transform((url) => url.replace(/\/+$/, ''))
    .optional()
    .describe(
      'The identity provider through which people may sign in. Set issuer, client id and secret, or none of them. The redirect URI is `CONSOLE_URL`/api/auth/callback/oidc',
    ),
  OIDC_CLIENT_ID: z.string().optional().describe("The console's client id at the identity provider"),
  OIDC_CLIENT_SECRET: secret(z.string().optional()).describe(
    "The console's client secret at the identity provider",
  ),
  OIDC_NAME: z
    .string()
    .max(40, 'must be at most 40 characters')
    .default('single sign-on')
    .describe('The button says "Sign in with" and this name'),
  OIDC_ONLY: flag.describe(
    'People sign in through the identity provider only, never with a password. When the console starts, it ends the sessions of accounts that have a password',
  ),
});

export type Config = z.output<typeof schema> & {
  readonly caller: ServiceIdentity;
  readonly deadlines: Deadlines;
  /** Null: no identity provider is configured. */
  readonly oidc: Oidc | null;
};

export interface Oidc {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly name: string;
  /** Whether it is the only way to sign in. */
  readonly only: boolean;
}

/** @throws ConfigError */
export function readConfig(env: Variables = process.env): Config {
  return loadConfig(schema, env, { caller: callerOf, deadlines: deadlinesOf, oidc: oidcOf });
}

function deadlinesOf({ LIVE_COUNTS_TIMEOUT_MS, CHANGE_TIMEOUT_MS }: z.output<typeof schema>): Deadlines {
  return { shownMs: LIVE_COUNTS_TIMEOUT_MS, limiterMs: CHANGE_TIMEOUT_MS, runnerMs: DEADLINES.runnerMs };
}

/** @throws ConfigError */
function oidcOf(config: z.output<typeof schema>): Oidc | null {
  const { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET } = config;
  const oidc = { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET };
  const missing = Object.entries(oidc).filter(([, value]) => value === undefined);
  if (missing.length > 0 && (config.OIDC_ONLY || missing.length < Object.keys(oidc).length))
    throw new ConfigError(missing.map(([variable]) => ({ variable, reason: 'is not set' })));
  const [issuer, clientId, clientSecret] = [OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET];
  if (!issuer || !clientId || !clientSecret) return null;
  return { issuer, clientId, clientSecret, name: config.OIDC_NAME, only: config.OIDC_ONLY };
}
