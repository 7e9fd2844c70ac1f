import { types } from 'node:util';

const { isNativeError } = types;

const MAX_CAUSES = 4;

/** What an error means, and what to do about it, if known. Signs match its code and message. */
const REASONS: readonly [sign: RegExp, sentence: string][] = [
  [/\bWRONGPASS\b/, 'Redis refuses the user or the password in REDIS_URL.'],
  [/\bNOAUTH\b/, 'Redis asks for a password, and REDIS_URL has none.'],
  [/no password is set|without any password configured/, 'Redis has no password, and REDIS_URL has one.'],
  [/\bNOPERM\b/, 'The user in REDIS_URL lacks a permission.'],
  [/\bDENIED\b/, 'Redis runs in protected mode and takes no connections from other machines.'],
  [/max number of clients/, 'Redis takes no more connections: raise its maxclients.'],
  [/\bOOM\b/, 'Redis has no memory left.'],
  [/\bMISCONF\b/, 'Redis cannot write its data to disk, so it refuses changes.'],
  [/\bLOADING\b/, 'Redis is not ready: it is loading its data.'],
  [/\bCLUSTERDOWN\b/, 'The Redis Cluster is not complete: some slots have no server.'],
  [/Socket timeout/, 'Redis did not answer in time.'],
  [/isn't (writeable|ready) and enableOfflineQueue/, 'There is no connection to Redis.'],
  [/max retries per request|ECONNRESET|EPIPE/, 'The connection to Redis was lost.'],
  [/wrong version number|EPROTO|CERT|certificate/i, 'Redis cannot be reached over TLS as REDIS_URL says.'],
];

const SILENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
]);

/**
 * Explains in one sentence why Redis could not be used. It shows no password. Null: the error is
 * about something else. Any socket error is taken to be about Redis, so call this only where no
 * other connection can have failed.
 */
export function explainRedis(error: unknown): string | null {
  let each = error;
  for (let depth = 0; depth <= MAX_CAUSES && isNativeError(each); depth++) {
    const sentence = sentenceOf(each);
    if (sentence !== null) return sentence;
    each = each.cause ?? (each as { lastNodeError?: unknown }).lastNodeError;
  }
  return null;
}

function sentenceOf(error: Error): string | null {
  const {
    code = '',
    address,
    hostname,
    port,
  } = error as {
    code?: unknown;
    address?: string;
    hostname?: string;
    port?: number;
  };
  const host = address ?? hostname;
  if (code === 'ENOTFOUND' && host !== undefined) return `The Redis host ${host} has no address.`;
  if (SILENT.has(String(code)))
    return `Redis does not answer${host === undefined ? '' : ` at ${host}${port === undefined ? '' : `:${port}`}`}.`;
  const text = `${code} ${error.message}`;
  return REASONS.find(([sign]) => sign.test(text))?.[1] ?? null;
}
