import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from '@jest/globals';

export interface Provider {
  /** The console's variables for it; there once tests run. */
  readonly env: Record<string, string>;
  /** Who is signed in there. */
  email: string;
}

/** An identity provider that lets whoever comes straight back in. Call it before the stack that uses it. */
export function useProvider(): Provider {
  const provider: Provider = { env: {}, email: '' };
  const server = createServer((request, response) => {
    const issuer = provider.env.OIDC_ISSUER ?? '';
    const { pathname, searchParams } = new URL(request.url ?? '', issuer);
    if (pathname === '/authorize') {
      const state = encodeURIComponent(searchParams.get('state') ?? '');
      const location = `${searchParams.get('redirect_uri')}?code=code&state=${state}`;
      return void response.writeHead(302, { location }).end();
    }
    const answers: Record<string, object> = {
      '/.well-known/openid-configuration': {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/userinfo`,
        id_token_signing_alg_values_supported: ['RS256'],
      },
      '/token': { access_token: 'access', token_type: 'Bearer', expires_in: 60 },
      '/userinfo': { sub: provider.email, email: provider.email, email_verified: true, name: 'Ada' },
    };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answers[pathname] ?? {}));
  });
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const settings = { OIDC_CLIENT_ID: 'id', OIDC_CLIENT_SECRET: 'secret', OIDC_NAME: 'Example' };
    Object.assign(provider.env, settings, { OIDC_ISSUER: `http://127.0.0.1:${port}` });
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return provider;
}
