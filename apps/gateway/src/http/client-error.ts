import type { Duplex } from 'node:stream';
import { isRefusal, newRefusal, type Passed, type Refusal } from '@tidegate/contracts';
import { type RawRefusalDeps, refuseRaw } from './refuse-raw.ts';
import { type Misrouted, misrouted } from './routes.ts';
import type { HttpSocket } from './socket.ts';

/** The size limit of a request's head. Node enforces it. */
export const MAX_HEADER_BYTES = 32 * 1024;

export const NOT_HTTP = newRefusal({
  code: 'invalid_request',
  message: 'The request is not valid HTTP.',
});

const REQUEST_TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';
/** An HTTP/1 request line, with its path captured. A method may be any token. */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~\w-]+ ([^\s?]+)(?:\?\S*)? HTTP\/1\.[01]\r?\n/;

/** What Node's parser reports. */
export interface ClientError extends NodeJS.ErrnoException {
  /** What had arrived. */
  readonly rawPacket?: Buffer;
  /** How much of it was parsed. */
  readonly bytesParsed?: number;
}

export interface ClientErrorDeps extends RawRefusalDeps {
  /** Refuses a blocked peer. Headers were not read, so behind a proxy the peer is the proxy. */
  readonly refuseBlocked: (socket: HttpSocket) => Passed | Refusal;
  /** Whether the request that is still arriving has already been answered. */
  readonly isAnswered: (socket: Duplex) => boolean;
}

/**
 * Answers input that is not HTTP, or that arrives too slowly. Then ends the connection.
 */
export function onClientError(deps: ClientErrorDeps, error: ClientError, socket: HttpSocket): void {
  // The connection already has its last answer.
  if (socket.writableEnded) return;
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  // An answer that nobody is waiting for would be taken for the answer to the next request.
  const isOwed = socket.bytesRead !== 0 && !deps.isAnswered(socket);
  if (error.code === REQUEST_TIMEOUT && !isOwed) return void socket.destroy();
  refuseRaw(deps, socket, ofUnknownMethod(deps, error, socket) ?? { refusal: refusalOf(error) });
}

/**
 * The answer if only the method is wrong: Node's parser knows only the registered ones, and stops
 * in the middle of others. Undefined if more is wrong, or if the line has not fully arrived.
 */
function ofUnknownMethod(
  { refuseBlocked }: ClientErrorDeps,
  { code, rawPacket, bytesParsed = 0 }: ClientError,
  socket: HttpSocket,
): Misrouted | undefined {
  if (code !== 'HPE_INVALID_METHOD' || !rawPacket) return undefined;
  // The packet may begin with requests that have already been parsed.
  const start = rawPacket.lastIndexOf('\n', Math.max(0, bytesParsed - 1)) + 1;
  const line = rawPacket.toString('latin1', start, start + MAX_HEADER_BYTES);
  const path = REQUEST_LINE.exec(line)?.[1];
  if (path === undefined) return undefined;
  const blocked = refuseBlocked(socket);
  return isRefusal(blocked) ? { refusal: blocked } : misrouted(path);
}

function refusalOf({ code }: ClientError): Refusal {
  if (code === REQUEST_TIMEOUT) {
    return newRefusal({ code: 'request_timeout', message: 'The request did not arrive in time.' });
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return newRefusal({
      code: 'invalid_request',
      message: `The headers must be at most ${MAX_HEADER_BYTES} bytes.`,
    });
  }
  return NOT_HTTP;
}

/**
 * Whether a header has a blank before its colon. A proxy may read such a header differently. Node
 * 20.19.0 and 20.19.1 keep the blank as part of the name; later versions refuse the request.
 *
 * @param rawHeaders names and values in turn
 */
export function hasBlankAfterName(rawHeaders: readonly string[]): boolean {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.endsWith(' ') || name.endsWith('\t')) return true;
  }
  return false;
}
