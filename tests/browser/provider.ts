import { afterAll, beforeAll } from '@jest/globals';
import { type IdentityProvider, startIdentityProvider } from '@tidegate/testing';

interface Provider {
  /** The console's variables for it; there once tests run. */
  readonly env: Record<string, string>;
  /** Signs someone in there, with a proven e-mail. */
  signIn(email: string): void;
}

/** An identity provider beside the stack. Call it before the stack that uses it. */
export function useProvider(): Provider {
  const env: Record<string, string> = {};
  let provider: IdentityProvider;
  beforeAll(async () => {
    provider = await startIdentityProvider();
    const settings = { OIDC_CLIENT_ID: 'id', OIDC_CLIENT_SECRET: 'secret', OIDC_NAME: 'Example' };
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
