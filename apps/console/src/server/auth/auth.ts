import { newUserId, randomBase62 } from '@tidegate/contracts';
import type { AccountEvent } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import { LIMITS } from '@tidegate/limits';
import { betterAuth } from 'better-auth';
import { prismaAdapter } from 'better-auth/adapters/prisma';
import { twoFactor } from 'better-auth/plugins/two-factor';
import type { Oidc } from '../../config.ts';
import { type Allowance, take } from './attempts.ts';
import { recordingRefused } from './audited-provider.ts';
import { begunSignIn } from './begun-sign-in.ts';
import { throwingFailures, withFailuresNoted } from './database-failures.ts';
import { digest } from './digest.ts';
import { identityProvider, providerHooks } from './identity-provider.ts';
import type { EndPageKeys } from './page-keys.ts';
import { passkeyPlugin } from './passkey-plugin.ts';
import { acceptPrevious, versioned } from './previous-secret.ts';
import { type ProviderFailure, providerFailures } from './provider-failures.ts';

export interface Hashing {
  hash(password: string): Promise<string>;
  verify(given: { hash: string; password: string }): Promise<boolean>;
}

export interface AuthOptions {
  readonly db: Db;
  readonly consoleUrl: string;
  readonly secret: string;
  /** The previous secret, while cookies and values from its time are still accepted. */
  readonly previousSecret?: string | undefined;
  readonly oidc: Oidc | null;
  /**
   * Called for sign-ins through the identity provider, including refused ones, and for accounts
   * that are linked to it.
   */
  readonly recordAccount?: (event: AccountEvent) => Promise<void>;
  /** Called when the identity provider fails. */
  readonly onProviderFailure?: (failure: ProviderFailure) => void;
  /** How passwords are hashed. Default: with better-auth's scrypt, as control hashes them. */
  readonly hashing?: Hashing | undefined;
  /** Called when the identity provider's first sign-in has ended an account's sessions. */
  readonly endPageKeys?: EndPageKeys;
}

const SESSIONS = {
  expiresIn: 7 * 86_400,
  disableSessionRefresh: true,
  // A new passkey needs the password, not a recent session.
  freshAge: 0,
  cookieCache: { enabled: false },
  additionalFields: { lastSeenAt: { type: 'date', input: false, defaultValue: () => new Date() } },
} as const;
/** How long a sign-in waits for its second step. */
const SECOND_STEP_S = 600;

/**
 * Sessions, passwords and the identity provider. Nobody can sign up: invitations and operators
 * create accounts. SignIn limits attempts before it calls this. Only the identity provider's routes
 * are reachable over HTTP.
 */
export function createAuth(options: AuthOptions) {
  const { db, consoleUrl, secret, previousSecret, oidc, hashing, recordAccount, onProviderFailure } = options;
  const secure = consoleUrl.startsWith('https://');
  const auth = betterAuth({
    appName: 'Tidegate',
    baseURL: consoleUrl,
    basePath: '/api/auth',
    // Only values from the time before `secrets` need it.
    secret: previousSecret ?? secret,
    secrets: versioned([...new Set([secret, previousSecret ?? secret])]),
    trustedOrigins: [consoleUrl],
    database: prismaAdapter(withFailuresNoted(db), { provider: 'postgresql' }),
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    logger: onProviderFailure ? providerFailures(onProviderFailure) : { disabled: true },
    // Where a browser lands if it comes back with a sign-in that is no longer known.
    onAPIError: { errorURL: `${consoleUrl}/sign-in` },
    emailAndPassword: {
      enabled: !oidc?.only,
      disableSignUp: true,
      minPasswordLength: LIMITS.passwordCharacters.min,
      maxPasswordLength: LIMITS.passwordCharacters.max,
      ...(hashing && { password: hashing }),
    },
    session: SESSIONS,
    advanced: {
      cookiePrefix: 'tidegate',
      useSecureCookies: secure,
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax', path: '/', secure },
      database: {
        generateId: ({ model }) =>
          model === 'user' ? newUserId() : `${model.slice(0, 3)}_${randomBase62(20)}`,
      },
      ipAddress: { disableIpTracking: true },
    },
    // Accounts come from invitations, so their e-mails are never verified here. This trusts the
    // provider's verification. An e-mail finds an account only until the account has an identity:
    // the database refuses a second one.
    account: {
      accountLinking: { enabled: true, requireLocalEmailVerified: false },
      updateAccountOnSignIn: false,
    },
    databaseHooks: providerHooks(options),
    plugins: [
      ...(previousSecret ? [acceptPrevious(secret, previousSecret)] : []),
      // SecondFactor limits codes. This lock would hold in every browser.
      twoFactor({
        issuer: new URL(consoleUrl).host,
        twoFactorCookieMaxAge: SECOND_STEP_S,
        accountLockout: { enabled: false },
      }),
      begunSignIn(),
      passkeyPlugin(consoleUrl),
      ...(oidc ? [identityProvider(oidc)] : []),
    ],
  });
  const guarded: typeof auth = { ...auth, handler: handlerOf(auth.handler, db, recordAccount) };
  return guarded;
}

type Handler = (request: Request) => Promise<Response>;

/** Answers the identity provider's routes. Records identities that are refused for an account. */
function handlerOf(handle: Handler, db: Db, record: AuthOptions['recordAccount']): Handler {
  const handler: Handler = (request) => throwingFailures(() => handle(request));
  if (!record) return handler;
  const mayRecord = async (email: string) =>
    (await take(db, Date.now(), `provider:${digest(email)}`, REFUSED_AT_PROVIDER)) === 0;
  return recordingRefused(handler, { record, mayRecord });
}

/** How many refused identities of an e-mail are recorded. */
const REFUSED_AT_PROVIDER: Allowance = { attempts: 30, windowMs: 15 * 60_000 };

export type Auth = ReturnType<typeof createAuth>;
