import { ERRORS, errorBody, type Refusal } from '@tidegate/contracts';
import type { Exchange } from './exchange.ts';

/** What is read of a body that nobody wants, so that its sender gets to see the answer, before the connection is closed. */
const MAX_DRAIN_MS = 2_000;
/** A declared rest of this size is read, and the connection kept. */
const MAX_KEPT_BYTES = 64 * 1024;

/** The one place where a refusal becomes an HTTP answer. */
export function refuse(exchange: Exchange, refusal: Refusal): void {
  const { retryAfterS, shouldRetry, code, cause = null } = refusal;
  exchange.code = code;
  exchange.cause = cause;
  const headers = [...exchange.headers];
  if (retryAfterS !== undefined) headers.push('retry-after', String(retryAfterS));
  if (shouldRetry === false) headers.push('x-should-retry', 'false');
  // HTTP asks for it with every 401.
  if (code === 'invalid_api_key') headers.push('www-authenticate', 'Bearer');
  exchange.headers = headers;
  sendJson(exchange, ERRORS[code].status, JSON.stringify(errorBody(refusal)));
}

export function sendJson(exchange: Exchange, status: number, json: string): void {
  const { request, response } = exchange;
  if (response.headersSent || response.destroyed) return;
  const drain = !request.complete && (exchange.code === 'request_timeout' || !isSmall(request.headers));
  const headers = [
    'x-request-id',
    exchange.requestId,
    'content-type',
    'application/json',
    ...exchange.headers,
  ];
  headers.push('content-length', String(Buffer.byteLength(json)));
  if (drain) headers.push('connection', 'close');
  response.writeHead(status, headers);
  if (drain) {
    endDrained(exchange, json);
    return;
  }
  // Whoever gave its body up has paused it: left so, the connection would never come to its next request.
  if (!request.complete) request.resume();
  // As a string it leaves in one piece with the head.
  response.end(json);
}

/** A connection that is closed on unread bytes is reset, and the answer lost: read on for a moment first. */
function endDrained({ request, response }: Exchange, json: string): void {
  response.write(json);
  const timer = setTimeout(() => response.end(), MAX_DRAIN_MS);
  request.once('close', () => {
    clearTimeout(timer);
    response.end();
  });
  request.resume();
}

const isSmall = (headers: NodeJS.Dict<string | string[]>): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= MAX_KEPT_BYTES;
