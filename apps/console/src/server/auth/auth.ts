import { isIP } from 'node:net';
import { passkey } from '@better-auth/passkey';
import { newUserId, randomBase62 } from '@tidegate/contracts';
import { type AccountEvent, CREDENTIAL, endSteps } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import { APIError, betterAuth } from 'better-auth';
import { prismaAdapter } from 'better-auth/adapters/prisma';
import { type GenericOAuthConfig, genericOAuth } from 'better-auth/plugins/generic-oauth';
import { twoFactor } from 'better-auth/plugins/two-factor';
import type { Oidc } from '../../config.ts';
import { CLIENT_ADDRESS_HEADER } from '../http/names.ts';
import { type Allowance, take } from './attempts.ts';
import { noteClaim, recordingRefused } from './audited-provider.ts';
import { begunSignIn } from './begun-sign-in.ts';
import { noted, throwingFailures, withFailuresNoted } from './database-failures.ts';
import { digest } from './digest.ts';
import { acceptPrevious, versioned } from './previous-secret.ts';

export const OIDC_PROVIDER_ID = 'oidc';
const SESSION_S = 7 * 86_400;
/** The routes of better-auth to which the provider sends browsers back. */
const PROVIDER_CALLBACK = /^\/(oauth2\/)?callback\//;

export interface AuthOptions {
  readonly db: Db;
  readonly consoleUrl: string;
  readonly secret: string;
  /** The secret before, while cookies and values of its time are still to be accepted. */
  readonly previousSecret?: string | undefined;
  readonly oidc: Oidc | null;
  /**
   * Told of sign-ins through the identity provider, refused ones too, and of accounts that are
   * linked to it.
   */
  readonly recordAccount?: (event: AccountEvent) => Promise<void>;
}

/**
 * Sessions, passwords and the identity provider. Nobody can sign up: invitations and operators
 * create accounts. SignIn limits attempts before it calls this. Only the identity provider's routes
 * are reachable over HTTP.
 */
export function createAuth({ db, consoleUrl, secret, previousSecret, oidc, recordAccount }: AuthOptions) {
  const secure = consoleUrl.startsWith('https://');
  const auth = betterAuth({
    appName: 'Tidegate',
    baseURL: consoleUrl,
    basePath: '/api/auth',
    // Only values of a time before `secrets` need it.
    secret: previousSecret ?? secret,
    secrets: versioned([...new Set([secret, previousSecret ?? secret])]),
    trustedOrigins: [consoleUrl],
    database: prismaAdapter(withFailuresNoted(db), { provider: 'postgresql' }),
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    logger: { disabled: true },
    // Where a browser comes back to with a sign-in that nobody knows any more.
    onAPIError: { errorURL: `${consoleUrl}/sign-in` },
    emailAndPassword: {
      enabled: !oidc?.only,
      disableSignUp: true,
      minPasswordLength: 8,
      maxPasswordLength: 128,
    },
    session: {
      expiresIn: SESSION_S,
      disableSessionRefresh: true,
      // A new passkey needs the password, not a young session.
      freshAge: 0,
      cookieCache: { enabled: false },
      additionalFields: { lastSeenAt: { type: 'date', input: false, defaultValue: () => new Date() } },
    },
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
    databaseHooks: {
      account: {
        create: {
          before: async (account) => {
            // Before, so that an account which could not be cleared is not linked either.
            if (account.providerId === OIDC_PROVIDER_ID) await noted(() => takeOver(db, account.userId));
            return { data: { ...account, ...NO_TOKENS } };
          },
          after: async ({ providerId, userId }) => {
            if (providerId !== OIDC_PROVIDER_ID) return;
            await recordAccount?.({ action: 'account.linkProvider', account: { userId } });
          },
        },
      },
      session: {
        create: {
          after: async ({ userId }, context) => {
            if (!PROVIDER_CALLBACK.test(context?.path ?? '')) return;
            const address = context?.headers?.get(CLIENT_ADDRESS_HEADER) ?? undefined;
            const details = { with: 'identity provider' };
            await recordAccount?.({ action: 'account.signIn', account: { userId }, address, details });
          },
        },
      },
    },
    plugins: [
      ...(previousSecret ? [acceptPrevious(secret, previousSecret)] : []),
      // SecondFactor limits codes. This lock would hold in every browser.
      twoFactor({ issuer: new URL(consoleUrl).host, accountLockout: { enabled: false } }),
      begunSignIn(),
      passkeys(consoleUrl),
      ...(oidc ? [identityProvider(oidc)] : []),
    ],
  });
  const handler = (request: Request) => throwingFailures(() => auth.handler(request));
  const mayRecord = async (email: string) =>
    (await take(db, Date.now(), `provider:${digest(email)}`, REFUSED_AT_PROVIDER)) === 0;
  const guarded: typeof auth = {
    ...auth,
    handler: recordAccount ? recordingRefused(handler, { record: recordAccount, mayRecord }) : handler,
  };
  return guarded;
}

/** How many refused identities of an e-mail are recorded. */
const REFUSED_AT_PROVIDER: Allowance = { attempts: 30, windowMs: 15 * 60_000 };

/**
 * Whether browsers make passkeys for this site. They need a name and an encrypted connection, or
 * `localhost`.
 */
export function canHavePasskeys(consoleUrl: string): boolean {
  const { protocol, hostname } = new URL(consoleUrl);
  return hostname === 'localhost' || (protocol === 'https:' && isIP(hostname.replace(/[[\]]/g, '')) === 0);
}

/**
 * A passkey stands for password and second factor. So its device must check each time who uses it:
 * the plugin only asks for that.
 */
const passkeys = (consoleUrl: string) =>
  passkey({
    rpID: new URL(consoleUrl).hostname,
    rpName: 'Tidegate',
    origin: consoleUrl,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    advanced: { webAuthnChallengeCookie: 'passkey' },
    registration: {
      afterVerification: async ({ verification: { registrationInfo } }) =>
        requireVerifiedUser(registrationInfo?.userVerified),
    },
    authentication: {
      afterVerification: async ({ verification: { authenticationInfo } }) =>
        requireVerifiedUser(authenticationInfo.userVerified),
    },
  });

function requireVerifiedUser(isVerified = false): void {
  if (!isVerified) throw new APIError('UNAUTHORIZED', { code: 'USER_NOT_VERIFIED' });
}

/** The provider tells once who signs in. The console calls nothing of it in the user's name. */
const NO_TOKENS = {
  accessToken: null,
  refreshToken: null,
  idToken: null,
  accessTokenExpiresAt: null,
  refreshTokenExpiresAt: null,
};

/**
 * The first sign-in through the provider proves who owns the e-mail. It removes password and second
 * factor, which someone else may have set before, and ends all earlier sessions and those that have
 * begun.
 */
const takeOver = (db: Db, userId: string): Promise<void> =>
  db.$transaction(async (tx) => {
    const { count } = await tx.user.updateMany({
      where: { id: userId, emailVerified: false },
      data: { twoFactorEnabled: false },
    });
    if (count === 0) return;
    await tx.account.deleteMany({ where: { userId, providerId: CREDENTIAL } });
    await tx.twoFactor.deleteMany({ where: { userId } });
    await tx.passkey.deleteMany({ where: { userId } });
    await tx.session.deleteMany({ where: { userId } });
    await endSteps(tx, userId);
  });

/**
 * Only existing accounts may sign in. They are found by e-mail, which the provider must have
 * verified.
 */
const identityProvider = ({ issuer, clientId, clientSecret, name }: Oidc) =>
  askedWhenNeeded({
    providerId: OIDC_PROVIDER_ID,
    name,
    discoveryUrl: `${issuer}/.well-known/openid-configuration`,
    clientId,
    clientSecret,
    scopes: ['openid', 'email', 'profile'],
    pkce: true,
    disableSignUp: true,
    mapProfileToUser: noteClaim,
  });

/**
 * An identity provider whose endpoints are discovered at the first sign-in through it. The plugin
 * would discover them when it starts, without a time limit, and all of better-auth waits for that.
 * Then a provider that does not answer would block passwords and sessions, too.
 * So the plugin starts as if discovery had failed. A request that names a provider in
 * `genericOAuthPendingDiscovery` discovers it, within 10 s (better-auth 1.7.25,
 * plugins/generic-oauth).
 */
function askedWhenNeeded(config: GenericOAuthConfig) {
  const plugin = genericOAuth({ config: [config] });
  const init: typeof plugin.init = async ({ socialProviders }) => ({
    context: { socialProviders, genericOAuthPendingDiscovery: new Map([[config.providerId, config]]) },
  });
  return { ...plugin, init };
}

export type Auth = ReturnType<typeof createAuth>;
