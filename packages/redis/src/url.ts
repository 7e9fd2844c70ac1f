import { z } from 'zod';

export interface Address {
  readonly host: string;
  readonly port: number;
}

interface Login {
  readonly username?: string;
  readonly password?: string;
}

/** What REDIS_URL names: one server, the master that Sentinels name, or a Redis Cluster. */
export type RedisTarget =
  | { readonly kind: 'single'; readonly url: string }
  | {
      readonly kind: 'sentinel';
      readonly addresses: readonly Address[];
      readonly name: string;
      readonly db: number;
      readonly tls: boolean;
      readonly login: Login;
      /** The login for the Sentinels themselves. */
      readonly sentinelLogin: Login;
    }
  | {
      readonly kind: 'cluster';
      readonly addresses: readonly Address[];
      readonly tls: boolean;
      readonly login: Login;
    };

/** The message says what is wrong with the URL and shows no part of it. */
export class RedisUrlError extends Error {
  override readonly name = 'RedisUrlError';
}

const SHAPE =
  /^redis(?<tls>s?)(?:\+(?<kind>cluster|sentinel))?:\/\/(?:(?<login>[^@/?#]*)@)?(?<hosts>[^@/?#]+)(?:\/(?<path>[^?#]*))?(?:\?(?<query>[^#]*))?$/;
const REDIS_PORT = 6_379;
const SENTINEL_PORT = 26_379;
const MAX_PORT = 65_535;

/**
 * Reads redis://, redis+sentinel:// and redis+cluster:// URLs; rediss means TLS. The latter two
 * kinds take several addresses, separated by commas. The path of a Sentinel URL is the master's
 * name, and may continue with a database.
 * @throws RedisUrlError
 */
export function parseRedisUrl(text: string): RedisTarget {
  const parts = SHAPE.exec(text)?.groups;
  if (!parts) throw new RedisUrlError(whyNot(text));
  const { kind, login, hosts = '', path = '', query = '' } = parts;
  const tls = parts.tls === 's';
  if (kind === 'sentinel') return sentinelOf(hosts, path, query, login, tls);
  if (kind === 'cluster') {
    if (path !== '' || query !== '')
      throw new RedisUrlError('must not name a database or have parameters if it is a cluster');
    return { kind, addresses: addressesOf(hosts, REDIS_PORT), tls, login: loginOf(login) };
  }
  if (hosts.includes(','))
    throw new RedisUrlError('must be redis+cluster:// or redis+sentinel:// to name several addresses');
  // The client would fail to decode a bad login, without saying what is wrong.
  loginOf(login);
  if (!URL.canParse(text)) throw new RedisUrlError('is not a URL');
  return { kind: 'single', url: text };
}

const SCHEME = /^rediss?(?:\+(?:cluster|sentinel))?:\/\//;

/** Why a text does not have the shape of a Redis URL. */
function whyNot(text: string): string {
  if (!SCHEME.test(text))
    return 'must start with redis://, redis+sentinel:// or redis+cluster://, with rediss in place of redis for TLS';
  return /[@#]/.test(text)
    ? 'must have its user and password percent-encoded: @ is %40, # is %23, / is %2F'
    : 'names no host';
}

/** The schema of REDIS_URL in a configuration. */
export const redisUrl = z
  .string()
  .superRefine((text, context) => {
    try {
      parseRedisUrl(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'is invalid' });
    }
  })
  .describe(
    'One Redis server, the master that Sentinels name, or a cluster ([the forms](#redis_url)), with the login of this service',
  );

function sentinelOf(
  hosts: string,
  path: string,
  query: string,
  login: string | undefined,
  tls: boolean,
): RedisTarget {
  const [, name, db = '0'] = /^([^/]+)(?:\/(\d{1,4}))?$/.exec(path) ?? [];
  if (name === undefined)
    throw new RedisUrlError("must have the master's name as its path: redis+sentinel://host:26379/name");
  const parameters = new URLSearchParams(query);
  const username = parameters.get('sentinelUsername');
  const password = parameters.get('sentinelPassword');
  return {
    kind: 'sentinel',
    addresses: addressesOf(hosts, SENTINEL_PORT),
    name: decoded(name),
    db: Number(db),
    tls,
    login: loginOf(login),
    sentinelLogin: { ...(username ? { username } : {}), ...(password ? { password } : {}) },
  };
}

function addressesOf(hosts: string, defaultPort: number): Address[] {
  return hosts.split(',').map((text) => {
    const [, v6, name, port = String(defaultPort)] =
      /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/.exec(text.trim()) ?? [];
    const host = v6 ?? name;
    if (host === undefined || Number(port) === 0 || Number(port) > MAX_PORT)
      throw new RedisUrlError('must name addresses as host:port, separated by commas');
    return { host, port: Number(port) };
  });
}

/** `user:password`, `:password` or `user`, percent-encoded. */
function loginOf(text: string | undefined): Login {
  if (!text) return {};
  const colon = text.indexOf(':');
  const username = decoded(colon < 0 ? text : text.slice(0, colon));
  const password = colon < 0 ? '' : decoded(text.slice(colon + 1));
  return { ...(username ? { username } : {}), ...(password ? { password } : {}) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisUrlError('has an invalid percent-encoding');
  }
}
