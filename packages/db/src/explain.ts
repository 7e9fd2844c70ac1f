import { types } from 'node:util';

const { isNativeError } = types;

/** The driver's report of an error. Prisma passes it on as `meta.driverAdapterError.cause`. */
interface Reported {
  readonly kind?: string;
  /** The SQLSTATE. */
  readonly originalCode?: string;
  readonly originalMessage?: string;
  readonly host?: string;
  readonly port?: number;
  readonly reason?: string;
}

const MAX_CAUSES = 4;

/**
 * What a SQLSTATE means and what to do. Longer prefixes come first. The sentence quotes the
 * server's message between the two.
 */
const STATES: readonly [prefix: string, means: string, todo?: string][] = [
  ['28P01', 'Postgres refuses the user or the password in DATABASE_URL'],
  ['28', 'Postgres refuses the connection'],
  ['3D000', 'Postgres does not have the database in DATABASE_URL'],
  ['53300', 'Postgres takes no more connections', 'Try again soon, or raise its max_connections.'],
  ['53', 'Postgres is out of resources'],
  ['57P03', 'Postgres is not ready'],
  ['57P', 'Postgres ended the connection'],
  ['57014', 'Postgres took too long'],
  ['40', 'Another change was made at the same time', 'Try again.'],
  ['42501', 'The user in DATABASE_URL lacks a permission'],
  ['42P01', 'The database schema is from another release', 'Apply the migrations.'],
  ['42703', 'The database schema is from another release', 'Apply the migrations.'],
  ['08', 'Postgres, or a pooler in front of it, refuses the connection'],
];

/** What to do, by the server's message. Poolers use few SQLSTATEs. */
const REMEDIES: readonly [words: RegExp, todo: string][] = [
  [/unsupported startup parameter/, "Add it to the pooler's ignore_startup_parameters."],
  [/no encryption|SSL off|(SSL|TLS) (is )?required/, 'Add sslmode=verify-full to DATABASE_URL.'],
  [/no more connections allowed/, 'Try again soon.'],
];

/** Errors of the driver and of Prisma's transactions, by their messages. */
const MESSAGES: readonly [words: RegExp, sentence: string][] = [
  [/^timeout exceeded when trying to connect/, 'No connection to Postgres became free in time.'],
  [/connection timeout|^timeout expired|Query read timeout/, 'Postgres did not answer in time.'],
  [/^Connection terminated|connection error and is not queryable/, 'The connection to Postgres broke off.'],
  [
    /^The server does not support SSL connections/,
    'Postgres cannot be reached over TLS: The server does not support SSL connections.',
  ],
  [/^SASL: .*client password must be/, 'Postgres asks for a password, and DATABASE_URL has none.'],
  [
    /Unable to start a transaction|Transaction API error|Transaction already closed/,
    'Postgres is too busy: a transaction could not begin or end in time. Try again.',
  ],
];

/**
 * Explains in a sentence or two why Postgres could not be used, and what to do if that is known. It
 * shows no password and no part of a statement or its values. Null: the error is about something
 * else.
 */
export function explainPostgres(error: unknown): string | null {
  let each = error;
  for (let depth = 0; depth <= MAX_CAUSES && isNativeError(each); depth++) {
    const sentence = sentenceOf(reportedBy(each)) ?? ofMessage(each.message);
    if (sentence !== null) return sentence;
    each = each.cause;
  }
  return null;
}

/**
 * True if Postgres refused the connection only for now. Then nothing was done, and it is safe to
 * try again.
 */
export function isRefusedForNow(error: unknown): boolean {
  const { originalCode, originalMessage = '' } = isNativeError(error) ? reportedBy(error) : {};
  return (
    originalCode === '53300' ||
    originalCode === '57P03' ||
    /no more connections allowed/.test(originalMessage)
  );
}

/** Postgres' code for a statement that took too long. */
export const TOOK_TOO_LONG = '57014';
/** Postgres' code for a lock that could not be taken in time. */
export const LOCK_NOT_AVAILABLE = '55P03';

/** The SQLSTATE of an error that Postgres reported. */
export const sqlStateOf = (error: unknown): string | undefined =>
  isNativeError(error) ? reportedBy(error).originalCode : undefined;

/** Network errors. The driver adapter passes on those it does not know, without host and port. */
const SOCKET_CODE =
  /^(EAI_AGAIN|ENOTFOUND|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EPIPE|EACCES)$/;

function reportedBy(error: Error): Reported {
  const { meta, code, severity } = error as {
    meta?: { driverAdapterError?: { cause?: Reported } };
    code?: unknown;
    severity?: unknown;
  };
  if (meta?.driverAdapterError?.cause) return meta.driverAdapterError.cause;
  // A socket error is surely about Postgres only if it comes from Prisma.
  if (/^PrismaClient/.test(error.name) && typeof code === 'string' && SOCKET_CODE.test(code))
    return { kind: 'DatabaseNotReachable', reason: code };
  // An error of the driver itself, when it is used without Prisma.
  if (typeof code === 'string' && severity !== undefined)
    return { originalCode: code, originalMessage: error.message };
  return {};
}

function sentenceOf({
  kind,
  originalCode,
  originalMessage = '',
  host,
  port,
  reason,
}: Reported): string | null {
  if (kind === 'DatabaseNotReachable') {
    if (host === undefined) return `Postgres cannot be reached (${reason}).`;
    // A path names a socket. Otherwise only a name unknown to DNS comes without a port.
    if (port === undefined && !host.startsWith('/')) return `The Postgres host ${host} has no address.`;
    return `Postgres does not answer at ${port === undefined ? host : `${host}:${port}`}.`;
  }
  if (kind === 'ConnectionClosed' || kind === 'SocketTimeout') return 'The connection to Postgres broke off.';
  if (kind === 'TlsConnectionError') return `Postgres cannot be reached over TLS: ${reason}.`;
  const [, means, todo] = STATES.find(([prefix]) => originalCode?.startsWith(prefix)) ?? [];
  if (means === undefined) return null;
  const remedy = REMEDIES.find(([words]) => words.test(originalMessage))?.[1] ?? todo;
  return `${means}: ${originalMessage}.${remedy === undefined ? '' : ` ${remedy}`}`;
}

const ofMessage = (message: string): string | null =>
  MESSAGES.find(([words]) => words.test(message))?.[1] ?? null;
