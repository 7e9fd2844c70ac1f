import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The answer of the provider's userinfo endpoint. */
export interface Person {
  readonly sub: string;
  readonly email: string;
  readonly email_verified: boolean;
  readonly name: string;
}

export interface IdentityProvider {
  readonly issuer: string;
  /** The person who is signed in at the provider. */
  person: Person;
  /** The path that answers with an error, and with which. */
  failing: { readonly path: string; readonly status: number } | null;
  close(): void;
}

/** Starts an OpenID provider that signs everyone in as `person`, without asking. */
export async function startIdentityProvider(): Promise<IdentityProvider> {
  const server = createServer((request, response) => {
    const { issuer, person } = provider;
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
      '/token': { access_token: 'access', refresh_token: 'refresh', token_type: 'Bearer', expires_in: 60 },
      '/userinfo': person,
    };
    response.setHeader('content-type', 'application/json');
    if (pathname === provider.failing?.path) response.statusCode = provider.failing.status;
    response.end(JSON.stringify(answers[pathname] ?? {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const provider: IdentityProvider = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    person: { sub: 'sub', email: 'ada@example.com', email_verified: true, name: 'Ada' },
    failing: null,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return provider;
}
