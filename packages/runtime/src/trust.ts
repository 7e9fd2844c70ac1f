import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { CALLER_NAMES, type CallerName } from '@tidegate/contracts';
import { z } from 'zod';
import { ConfigError, secret } from './config.ts';

/*
 * How services prove to each other who they are: with a token each, and by mutual TLS if it is
 * configured. docs/adr/0013-services-prove-who-they-are.md has the reasons.
 */

export interface ServiceToken {
  readonly service: CallerName;
  readonly token: string;
}

/** Paths of PEM files. */
export interface TlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** How often they are checked for new content. Default: 10 s. */
  readonly refreshMs?: number;
  /** Called when new content cannot be used. Default: a process warning. */
  readonly warn?: (message: string) => void;
}

/** What a service presents to those it calls. */
export interface ServiceIdentity {
  readonly token: string | null;
  /** Null: without TLS. */
  readonly tls: TlsFiles | null;
}

/** Whom a service answers. */
export interface Trust {
  /** A service may have several. Empty: whoever can connect may make any call. */
  readonly tokens: readonly ServiceToken[];
  /** Null: without TLS. */
  readonly tls: TlsFiles | null;
}

const TOKEN = /^[\w.~+/=-]{32,512}$/;

const serviceToken = z.string().regex(TOKEN, 'must be 32 to 512 letters, digits and -._~+/=');

const serviceTokens = z.string().transform((text, context): ServiceToken[] => {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  const tokens = entries.flatMap((entry) => {
    const colon = entry.indexOf(':');
    const service = CALLER_NAMES.find((name) => name === entry.slice(0, colon));
    const token = entry.slice(colon + 1);
    return service && TOKEN.test(token) ? [{ service, token }] : [];
  });
  const wrong = (message: string) => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  if (tokens.length === 0 || tokens.length < entries.length)
    return wrong(
      `must be SERVICE:TOKEN, or several separated by commas: each service one of ${CALLER_NAMES.join(', ')}, each token 32 characters or more`,
    );
  if (new Set(tokens.map(({ token }) => token)).size < tokens.length)
    return wrong('must not have the same token twice');
  return tokens;
});

const pemFile = z.string().optional();
const tlsFields = {
  GRPC_TLS_CA_FILE: pemFile.describe(
    "PEM file of the authority that signs the services' certificates. Set all three `GRPC_TLS` files for mutual TLS between services, or none. A replaced file is used for new connections within 10 s",
  ),
  GRPC_TLS_CERT_FILE: pemFile.describe(
    "PEM file of this service's certificate. The certificates of limiter and runner must name the host in `LIMITER_ADDRESSES` and `RUNNER_ADDRESS`",
  ),
  GRPC_TLS_KEY_FILE: pemFile.describe('PEM file of its private key'),
};

/** What a service that calls others reads. `callerOf` checks it. */
export const callerFields = {
  SERVICE_TOKEN: secret(serviceToken.optional()).describe(
    'The token that identifies this service to limiter and runner. Without it they refuse its calls, unless they require no tokens ([why and how](adr/0013-services-prove-who-they-are.md))',
  ),
  ...tlsFields,
};

/** What a service that others call reads. `trustOf` checks it. */
export const trustFields = {
  SERVICE_TOKENS: secret(serviceTokens.optional()).describe(
    'Who may call: `gateway:TOKEN,metering:TOKEN,console:TOKEN,ctl:TOKEN`. A service may have several tokens, so that its token can be changed without a pause. The runner always needs it, because gateways get upstream keys from it. The limiter needs it unless it listens on loopback only, without TLS',
  ),
  ...tlsFields,
};

type Fields<F extends z.ZodRawShape> = z.output<z.ZodObject<F>>;

/** @throws ConfigError */
export const callerOf = (config: Fields<typeof callerFields>): ServiceIdentity => ({
  token: config.SERVICE_TOKEN ?? null,
  tls: tlsOf(config),
});

/**
 * Without tokens, a service answers only its own machine, and only without TLS.
 * @param listen the variable that says where the service listens, and its value
 * @throws ConfigError
 */
export function trustOf(
  config: Fields<typeof trustFields>,
  listen: { readonly variable: string; readonly host: string },
): Trust {
  if (isLoopback(listen.host) && !config.SERVICE_TOKENS && !tlsOf(config)) return { tokens: [], tls: null };
  return trustByTokensOf(config, `${listen.variable} lets other machines call this service`);
}

/**
 * @param why why this service must have tokens. It follows "is not set, and".
 * @throws ConfigError
 */
export function trustByTokensOf(config: Fields<typeof trustFields>, why: string): Trust {
  const tls = tlsOf(config);
  const tokens = config.SERVICE_TOKENS;
  if (tokens) return { tokens, tls };
  const reason = tls ? 'a certificate alone does not say which service calls' : why;
  throw new ConfigError([{ variable: 'SERVICE_TOKENS', reason: `is not set, and ${reason}` }]);
}

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** @throws Error unless the three can be used together, and `ca` is whole */
export function checkTlsPems(pems: {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}): void {
  createSecureContext(pems);
  // Node takes any text as an authority, and then trusts nobody.
  const text = pems.ca.toString('latin1');
  const authorities = text.match(PEM_CERTIFICATE) ?? [];
  if (authorities.length === 0 || authorities.length !== text.split('-----BEGIN').length - 1)
    throw Object.assign(new Error('the authority is not a whole certificate'), { code: 'BAD_CA' });
  for (const authority of authorities) new X509Certificate(authority);
}

function tlsOf(config: Fields<typeof tlsFields>): TlsFiles | null {
  const { GRPC_TLS_CA_FILE: ca, GRPC_TLS_CERT_FILE: cert, GRPC_TLS_KEY_FILE: key } = config;
  const variables = Object.keys(tlsFields) as (keyof typeof tlsFields)[];
  const missing = variables.filter((variable) => config[variable] === undefined);
  if (missing.length === variables.length) return null;
  if (!ca || !cert || !key)
    throw new ConfigError(missing.map((variable) => ({ variable, reason: 'is not set' })));
  const issues = variables.flatMap((variable) => unreadable(variable, config[variable] ?? ''));
  if (issues.length > 0) throw new ConfigError(issues);
  try {
    checkTlsPems({ ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) });
  } catch (error) {
    const reason = `cannot be used with the other GRPC_TLS files (${(error as NodeJS.ErrnoException).code})`;
    throw new ConfigError([{ variable: 'GRPC_TLS_CERT_FILE', reason }]);
  }
  return { ca, cert, key };
}

function unreadable(variable: string, path: string): { variable: string; reason: string }[] {
  try {
    readFileSync(path);
    return [];
  } catch (error) {
    return [
      { variable, reason: `names a file that cannot be read (${(error as NodeJS.ErrnoException).code})` },
    ];
  }
}
