import { newUserId, randomBase62 } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import { betterAuth } from 'better-auth';
import { prismaAdapter } from 'better-auth/adapters/prisma';
import { type GenericOAuthConfig, genericOAuth } from 'better-auth/plugins/generic-oauth';
import type { Oidc } from '../../config.ts';

export const OIDC_PROVIDER_ID = 'oidc';
const SESSION_S = 7 * 86_400;

export interface AuthOptions {
  readonly db: Db;
  readonly consoleUrl: string;
  readonly secret: string;
  readonly oidc: Oidc | null;
}

/**
 * Sessions, passwords and the identity provider. There is no sign-up: accounts come from invitations and operators. Sign-in
 * attempts are limited before this is asked (see SignIn); only the identity provider's routes are reachable over HTTP.
 */
export function createAuth({ db, consoleUrl, secret, oidc }: AuthOptions) {
  const secure = consoleUrl.startsWith('https://');
  return betterAuth({
    appName: 'Tidegate',
    baseURL: consoleUrl,
    basePath: '/api/auth',
    secret,
    trustedOrigins: [consoleUrl],
    database: prismaAdapter(db, { provider: 'postgresql' }),
    telemetry: { enabled: false },
    rateLimit: { enabled: false },
    logger: { disabled: true },
    emailAndPassword: { enabled: true, disableSignUp: true, minPasswordLength: 8, maxPasswordLength: 128 },
    session: { expiresIn: SESSION_S, disableSessionRefresh: true, cookieCache: { enabled: false } },
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
    // Accounts are made by invitation, so their e-mails are not verified here: the provider's word is taken for them.
    account: { accountLinking: { enabled: true, requireLocalEmailVerified: false } },
    databaseHooks: {
      account: {
        create: {
          after: async ({ providerId, userId }) => {
            if (providerId === OIDC_PROVIDER_ID) await takeOver(db, userId);
          },
        },
      },
    },
    plugins: oidc ? [identityProvider(oidc)] : [],
  });
}

/**
 * The first sign-in through the provider proves whose the e-mail is. A password that someone else may have set before, and
 * its sessions, end there.
 */
async function takeOver(db: Db, userId: string): Promise<void> {
  await db.account.deleteMany({
    where: { userId, providerId: 'credential', user: { emailVerified: false } },
  });
  await db.session.deleteMany({ where: { userId, user: { emailVerified: false } } });
}

/** Only accounts that exist may come in; an e-mail is taken for the account's when the provider has verified it. */
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
  });

/**
 * A provider that is asked for its endpoints by the first sign-in through it. The plugin would ask when it starts, without a
 * bound, and everything of better-auth waits for that: a provider that does not answer would keep out passwords and sessions.
 * It therefore starts as after a failed question: providers in `genericOAuthPendingDiscovery` are asked, for 10 s at most, by
 * whichever request names them (better-auth 1.7.25, plugins/generic-oauth).
 */
function askedWhenNeeded(config: GenericOAuthConfig) {
  const plugin = genericOAuth({ config: [config] });
  const init: typeof plugin.init = async ({ socialProviders }) => ({
    context: { socialProviders, genericOAuthPendingDiscovery: new Map([[config.providerId, config]]) },
  });
  return { ...plugin, init };
}

export type Auth = ReturnType<typeof createAuth>;
