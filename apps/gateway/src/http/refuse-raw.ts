import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ERRORS, errorBody, newRequestId, type Refusal } from '@tidegate/contracts';
import type { Observer } from '../observe/observer.ts';
import type { Misrouted } from './routes.ts';
import { type HttpSocket, MAX_CLOSE_MS, stopParsing } from './socket.ts';

export interface RawRefusalDeps {
  readonly observer: Observer;
  /** How long a written answer may wait for its client before the connection is closed. */
  readonly unreadTimeoutMs: number;
}

/** Connections that end with a refusal, sent or about to be sent. */
const refused = new WeakSet<Duplex>();

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
 * Ends the connection with an answer that belongs to no exchange, whether or not its client closes
 * it. Answers owed to earlier requests on the connection are sent first, in full.
 */
export function refuseRaw(deps: RawRefusalDeps, socket: HttpSocket, answer: Misrouted): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  stopParsing(socket);
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
  // without reading would put it off forever.
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
