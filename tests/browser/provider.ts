import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { type IdentityProvider, startIdentityProvider } from '@tidegate/testing';

interface Provider {
  /** The console's environment for this provider. Filled in before tests run. */
  readonly env: Record<string, string>;
  /** Lets this person sign in at the provider, with a verified e-mail. */
  signIn(email: string): void;
}

/** Starts an identity provider. Call this before the stack that uses it. */
export function useProvider(): Provider {
  const env: Record<string, string> = {};
  let provider: IdentityProvider;
  beforeAll(async () => {
    provider = await startIdentityProvider();
    const settings = { OIDC_CLIENT_ID: 'id', OIDC_CLIENT_SECRET: randomUUID(), OIDC_NAME: 'Example' };
    Object.assign(env, settings, { OIDC_ISSUER: provider.issuer });
  });
  afterAll(() => provider?.close());
  return {
    env,
    signIn: (email) => {
      provider.person = { sub: email, email, email_verified: true, name: 'Ada' };
    },
  };
}
