import { type AccountEvent, CREDENTIAL, endSteps } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import type { BetterAuthOptions } from 'better-auth';
import { type GenericOAuthConfig, genericOAuth } from 'better-auth/plugins/generic-oauth';
import { LRUCache } from 'lru-cache';
import type { Oidc } from '../../config.ts';
import { CLIENT_ADDRESS_HEADER } from '../http/names.ts';
import { noteClaim } from './audited-provider.ts';
import { noted } from './database-failures.ts';
import type { EndPageKeys } from './page-keys.ts';

const OIDC_PROVIDER_ID = 'oidc';
/** The routes of better-auth to which the provider sends browsers back. */
const PROVIDER_CALLBACK = /^\/(oauth2\/)?callback\//;

type Hooks = NonNullable<BetterAuthOptions['databaseHooks']>;

interface ProviderOptions {
  readonly db: Db;
  readonly recordAccount?: ((event: AccountEvent) => Promise<void>) | undefined;
  readonly endPageKeys?: EndPageKeys | undefined;
}

/** What else happens when better-auth creates an account or a session for the provider's user. */
export const providerHooks = (options: ProviderOptions): Hooks => ({
  account: linkHooks(options),
  session: {
    create: {
      after: async ({ userId }, context) => {
        if (!PROVIDER_CALLBACK.test(context?.path ?? '')) return;
        const address = context?.headers?.get(CLIENT_ADDRESS_HEADER) ?? undefined;
        const details = { with: 'identity provider' };
        await options.recordAccount?.({ action: 'account.signIn', account: { userId }, address, details });
      },
    },
  },
});

/** How many accounts may wait to be linked. Each waits while its linking fails. */
const MAX_UNLINKED = 1_000;

function linkHooks({ db, recordAccount, endPageKeys }: ProviderOptions): NonNullable<Hooks['account']> {
  /**
   * What was removed from accounts that are being linked. If the linking fails, or another sign-in
   * links the account first, the event of the one that succeeds reports it.
   */
  const removedFrom = new LRUCache<string, ReadonlySet<string>>({ max: MAX_UNLINKED });
  return {
    create: {
      before: async (account) => {
        const { providerId, userId } = account;
        if (providerId === OIDC_PROVIDER_ID) {
          // Done first, so that an account that could not be cleared is not linked either.
          const removed = await noted(() => takeOver(db, userId));
          await noted(async () => endPageKeys?.(userId));
          if (removed.length > 0)
            removedFrom.set(userId, new Set([...(removedFrom.get(userId) ?? []), ...removed]));
        }
        return { data: { ...account, ...NO_TOKENS } };
      },
      after: async ({ providerId, userId }) => {
        if (providerId !== OIDC_PROVIDER_ID) return;
        const removed = removedFrom.get(userId);
        removedFrom.delete(userId);
        const details = removed === undefined ? {} : { removed: [...removed] };
        await recordAccount?.({ action: 'account.linkProvider', account: { userId }, details });
      },
    },
  };
}

/**
 * The provider says once who is signing in. The console makes no calls to it on the user's behalf.
 */
const NO_TOKENS = {
  accessToken: null,
  refreshToken: null,
  idToken: null,
  accessTokenExpiresAt: null,
  refreshTokenExpiresAt: null,
};

/**
 * The first sign-in through the provider proves who owns the e-mail. It removes the password and
 * the second factor, which someone else may have set before, and ends all earlier sessions and
 * sign-ins that have begun. Resolves to what was removed, in words.
 */
const takeOver = (db: Db, userId: string): Promise<readonly string[]> =>
  db.$transaction(async (tx) => {
    const { count } = await tx.user.updateMany({
      where: { id: userId, emailVerified: false },
      data: { twoFactorEnabled: false },
    });
    if (count === 0) return [];
    const where = { userId };
    const removed = {
      password: await tx.account.deleteMany({ where: { userId, providerId: CREDENTIAL } }),
      'authenticator app': await tx.twoFactor.deleteMany({ where: { userId, verified: true } }),
      passkeys: await tx.passkey.deleteMany({ where }),
      sessions: await tx.session.deleteMany({ where: { userId, expiresAt: { gt: new Date() } } }),
    };
    // What is left of these lets no one in.
    await tx.twoFactor.deleteMany({ where });
    await tx.session.deleteMany({ where });
    await endSteps(tx, userId);
    return Object.entries(removed).flatMap(([name, { count }]) => (count > 0 ? [name] : []));
  });

/**
 * Only existing accounts may sign in. They are found by e-mail, which the provider must have
 * verified.
 */
export const identityProvider = ({ issuer, clientId, clientSecret, name }: Oidc) =>
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
