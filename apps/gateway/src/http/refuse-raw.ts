import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ERRORS, errorBody, isRefusal, newRefusal, newRequestId, type Refusal } from '@tidegate/contracts';
import type { Passed } from '../ending.ts';
import type { Observer } from '../observe/observer.ts';
import { type Misrouted, misrouted } from './routes.ts';

/** The largest head of a request, which Node enforces. */
export const MAX_HEADER_BYTES = 32 * 1024;
/** How long a client may take to receive the last answer and close. */
const MAX_CLOSE_MS = 2_000;

export const NOT_HTTP = newRefusal({
  code: 'invalid_request',
  message: 'The request is not valid HTTP.',
});

/** A request line of HTTP/1 with its path. Methods are tokens of any letters. */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~\w-]+ ([^\s?]+)\S* HTTP\/1\.[01]\r?\n/;

/** What Node's parser reports. */
export interface ClientError extends NodeJS.ErrnoException {
  /** What had arrived. */
  readonly rawPacket?: Buffer;
  /** How much of it was parsed. */
  readonly bytesParsed?: number;
}

type HttpSocket = Duplex & {
  readonly remoteAddress?: string | undefined;
  /** Node's property for the answer that has the connection now. Other answers wait behind it. */
  _httpMessage?: ServerResponse | null;
};

export interface RawRefusalDeps {
  readonly observer: Observer;
  /** How long a written answer may wait for its client before the connection is closed. */
  readonly unreadTimeoutMs: number;
  /** Refuses a blocked peer. Headers were not read, so behind a proxy the peer is the proxy. */
  readonly refuseBlocked: (socket: HttpSocket) => Passed | Refusal;
}

/** Connections that end with a refusal, sent or about to be sent. */
const refused = new WeakSet<Duplex>();

/**
 * Answers input that is not HTTP, or that arrives too slowly, in the API's error format. Then ends
 * the connection.
 */
export function onClientError(deps: RawRefusalDeps, error: ClientError, socket: Duplex): void {
  // The connection already has its last answer.
  if (socket.writableEnded) return;
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  refuseRaw(deps, socket, ofUnknownMethod(deps, error, socket) ?? { refusal: refusalOf(error) });
}

/**
 * The answer if all that is wrong is the method: Node's parser knows the registered ones only, and
 * stops in the middle of others. Undefined if more is wrong, or if the line has not arrived whole.
 */
function ofUnknownMethod(
  { refuseBlocked }: RawRefusalDeps,
  { code, rawPacket, bytesParsed = 0 }: ClientError,
  socket: HttpSocket,
): Misrouted | undefined {
  if (code !== 'HPE_INVALID_METHOD' || !rawPacket) return undefined;
  // Requests that were parsed before may be in the same packet.
  const start = rawPacket.lastIndexOf('\n', Math.max(0, bytesParsed - 1)) + 1;
  const line = rawPacket.toString('latin1', start, start + MAX_HEADER_BYTES);
  const path = REQUEST_LINE.exec(line)?.[1];
  if (path === undefined) return undefined;
  const blocked = refuseBlocked(socket);
  return isRefusal(blocked) ? { refusal: blocked } : misrouted(path);
}

function refusalOf({ code }: ClientError): Refusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
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

/** Answers a request for a tunnel (CONNECT), which Node does not route. */
export function refuseTunnel(deps: RawRefusalDeps, socket: HttpSocket, refusal: Refusal): void {
  // Node has removed its own listeners from the connection. The connection may be reset at any
  // time, and an answer in progress still needs these events.
  socket.on('error', () => {});
  socket.on('drain', () => socket._httpMessage?.emit('drain'));
  socket.on('timeout', () => socket.destroy());
  refuseRaw(deps, socket, { refusal });
}

/**
 * Ends the connection with an answer, whether or not its client closes it. Answers due to earlier
 * requests on the connection leave first, whole.
 */
function refuseRaw(deps: RawRefusalDeps, socket: HttpSocket, answer: Misrouted): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  // Closing a socket with unread bytes would reset the connection and lose the answer. So bytes
  // that still arrive are read, but no longer parsed as requests.
  socket.removeAllListeners('data').on('data', () => {});
  afterAnswers(socket, deps.unreadTimeoutMs, () => {
    if (socket.writable) endWith(deps.observer, socket, answer);
  });
}

/**
 * Calls `then` after all answers that are due. An answer is due if it has begun or its request is
 * complete. Otherwise its request is the one being refused.
 */
function afterAnswers(socket: HttpSocket, unreadTimeoutMs: number, then: () => void): void {
  const answer = socket._httpMessage;
  if (!answer || !(answer.headersSent || answer.req.complete)) {
    then();
    return;
  }
  // Node's timeout of the socket starts again with each byte that arrives, so a client that sends
  // without reading would put it off for ever.
  let timer: NodeJS.Timeout | undefined;
  const bound = () => {
    timer = setTimeout(() => socket.destroy(), unreadTimeoutMs);
  };
  if (answer.writableEnded) bound();
  else answer.once('prefinish', bound);
  answer.once('close', () => clearTimeout(timer));
  answer.once('finish', () => {
    clearTimeout(timer);
    // By now Node has given the connection to the next answer.
    afterAnswers(socket, unreadTimeoutMs, then);
  });
}

function endWith(observer: Observer, socket: Duplex, { refusal, allow }: Misrouted): void {
  const requestId = `req_${newRequestId()}`;
  const body = JSON.stringify(errorBody(refusal));
  const { status } = ERRORS[refusal.code];
  const { retryAfterS } = refusal;
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `x-request-id: ${requestId}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      ...(allow === undefined ? [] : [`allow: ${allow}`]),
      ...(retryAfterS === undefined ? [] : [`retry-after: ${retryAfterS}`]),
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  observer.refusedRaw(requestId, refusal);
  const timer = setTimeout(() => socket.destroy(), MAX_CLOSE_MS);
  socket.once('close', () => clearTimeout(timer));
}
