import { ERRORS, errorBody, type Refusal } from '@tidegate/contracts';
import { FairSemaphore } from '../body/fair-semaphore.ts';
import type { Exchange } from './exchange.ts';
import { UnwantedBodies } from './unwanted-bodies.ts';

/**
 * How long to read a body that nobody wants before the connection is closed, so that its sender
 * sees the answer.
 */
export const MAX_UNWANTED_MS = 2_000;
/** An unwanted body declared no larger than this is read to its end, and the connection is kept. */
const MAX_KEPT_BYTES = 64 * 1024;
/** One for the whole process: what the bodies share is the time of its main thread. */
const unwantedBodies = new UnwantedBodies();
/**
 * The minimum time between two of an organization's refusals of unread bodies. Each closes its
 * connection, and the sender may reconnect and send the next body immediately: hundreds a second,
 * with megabytes of each in kernel buffers.
 */
const UNWANTED_REST_MS = 20;
/**
 * How many such refusals may wait, at most a quarter of them for one organization. Further ones are
 * sent immediately.
 */
const MAX_WAITING = 2_048;
const unwantedTurns = new FairSemaphore({
  permits: Number.POSITIVE_INFINITY,
  maxWaiting: MAX_WAITING,
});

/** The only place that turns a refusal into an HTTP answer. */
export function sendRefusal(exchange: Exchange, refusal: Refusal): void {
  const { retryAfterS, shouldRetry, code, cause = null } = refusal;
  exchange.facts.code = code;
  exchange.facts.cause = cause;
  const headers = [...exchange.headers];
  if (retryAfterS !== undefined) headers.push('retry-after', String(retryAfterS));
  if (shouldRetry === false) headers.push('x-should-retry', 'false');
  // HTTP requires this header with every 401.
  if (code === 'invalid_api_key') headers.push('www-authenticate', 'Bearer');
  send(exchange, ERRORS[code].status, headers, JSON.stringify(errorBody(refusal)));
}

export const sendJson = (exchange: Exchange, status: number, json: string): void =>
  send(exchange, status, exchange.headers, json);

function send(exchange: Exchange, status: number, more: readonly string[], json: string): void {
  const { request, response } = exchange;
  if (response.headersSent || response.destroyed) return;
  const late = status === ERRORS.request_timeout.status;
  const unwanted = !request.complete && (late || exchange.awaitsContinue || !isSmall(request.headers));
  const headers = ['x-request-id', exchange.requestId, 'content-type', 'application/json', ...more];
  headers.push('content-length', String(Buffer.byteLength(json)));
  if (unwanted) {
    headers.push('connection', 'close');
    void inTurn(exchange, () => {
      response.writeHead(status, headers);
      endAfterBody(exchange, json);
    });
    return;
  }
  response.writeHead(status, headers);
  // Whoever gave up on the body has paused it. If it stayed paused, the connection would never
  // reach its next request.
  if (!request.complete) request.resume();
  // A string is sent in one piece with the head.
  response.end(json);
}

/** Waits for the organization's turn. Its first refusal in a while is sent immediately. */
async function inTurn({ held, response }: Exchange, answer: () => void): Promise<void> {
  if (held && (await unwantedTurns.acquire(held.orgId))) unwantedTurns.release(held.orgId, UNWANTED_REST_MS);
  if (!response.headersSent && !response.destroyed) answer();
}

/**
 * Closing a socket with unread bytes would reset the connection and lose the answer, so this reads
 * on for a moment first.
 */
function endAfterBody({ request, response }: Exchange, json: string): void {
  response.write(json);
  const timer = setTimeout(() => response.end(), MAX_UNWANTED_MS);
  request.once('close', () => {
    clearTimeout(timer);
    response.end();
  });
  unwantedBodies.add(request);
}

const isSmall = (headers: NodeJS.Dict<string | string[]>): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= MAX_KEPT_BYTES;
