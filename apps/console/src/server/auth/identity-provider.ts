import { type AccountEvent, CREDENTIAL, endSteps } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import type { BetterAuthOptions } from 'better-auth';
import { type GenericOAuthConfig, genericOAuth } from 'better-auth/plugins/generic-oauth';
import type { Oidc } from '../../config.ts';
import { CLIENT_ADDRESS_HEADER } from '../http/names.ts';
import { noteClaim } from './audited-provider.ts';
import { noted } from './database-failures.ts';

const OIDC_PROVIDER_ID = 'oidc';
/** The routes of better-auth to which the provider sends browsers back. */
const PROVIDER_CALLBACK = /^\/(oauth2\/)?callback\//;

/** What becomes of an account and a session that better-auth creates for the provider's user. */
export const providerHooks = (
  db: Db,
  recordAccount?: (event: AccountEvent) => Promise<void>,
): BetterAuthOptions['databaseHooks'] => ({
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
});

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
