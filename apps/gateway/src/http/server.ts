import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { ERRORS, errorBody, newRequestId, type Refusal } from '@tidegate/contracts';
import { refuseBlockedAddress } from '../auth/authenticate.ts';
import type { Gateway } from '../completion/gateway.ts';
import type { Observer } from '../observe/observer.ts';
import { createApp, NOT_FOUND } from './app.ts';
import { Exchange } from './exchange.ts';
import { askHalfClosed } from './half-closed.ts';
import { giveUpUnread } from './unread-answer.ts';

/** Beyond the deadlines of headers and body, which have answers of their own: what cuts bodies that nobody reads. */
const REQUEST_TIMEOUT_MARGIN_MS = 5_000;
/** How late those deadlines may be kept. Node looks every 30 s by itself. */
const CHECK_CONNECTIONS_MS = 1_000;
/** Longer than the usual minute of balancers in front: they should be the ones to close. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;
const MAX_HEADER_BYTES = 32 * 1024;

export interface GatewayServer {
  readonly port: number;
  /**
   * Stops accepting, lets what runs finish for `timeoutMs`, then ends it. Resolves once every request is over and settled,
   * or its settlement is in the outbox.
   */
  drain(timeoutMs: number): Promise<void>;
}

/** Serves the API. Rejects when the port is taken. */
export async function startServer(gateway: Gateway): Promise<GatewayServer> {
  const { config, exchanges } = gateway;
  const app = createApp(gateway);
  let draining = false;
  const server = createServer({
    ...app.classes,
    maxHeaderSize: MAX_HEADER_BYTES,
    requireHostHeader: false,
    headersTimeout: config.HEADERS_TIMEOUT_MS,
    requestTimeout: config.HEADERS_TIMEOUT_MS + config.BODY_TIMEOUT_MS + REQUEST_TIMEOUT_MARGIN_MS,
    connectionsCheckingInterval: CHECK_CONNECTIONS_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  });
  // A client that has closed its half gets its answer. Whether it is there to read it is asked.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', askHalfClosed);
  server.maxConnections = config.MAX_CONNECTIONS;
  // Their size bounds them. A number of its own would drop the rest unseen, a second key among them.
  server.maxHeadersCount = 0;
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const exchange = openExchange(gateway, request, response);
    if (draining) response.shouldKeepAlive = false;
    app.handle(exchange);
    void exchange.handled.then(() => giveUpUnread(response, config.UNREAD_ANSWER_TIMEOUT_MS));
  };
  server.on('request', onRequest);
  server.on('checkExpectation', onRequest);
  const { observer } = gateway;
  server.on('connect', (request: IncomingMessage, socket: Duplex) =>
    refuseRaw(observer, socket, refuseBlockedAddress(gateway, request) ?? NOT_FOUND),
  );
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
    onClientError(observer, error, socket),
  );
  server.listen(config.GATEWAY_PORT, config.GATEWAY_HOST);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    drain: async (timeoutMs) => {
      draining = true;
      const closed = once(server, 'close');
      server.close();
      for (const { response } of exchanges) response.shouldKeepAlive = false;
      if (!(await exchanges.empty(timeoutMs))) await endAll(server, gateway);
      server.closeAllConnections();
      await closed;
    },
  };
}

/** What `abort` has to do at most: settle, and say so to the client. */
const END_MS = 3_000;

async function endAll(server: Server, { exchanges }: Gateway): Promise<void> {
  exchanges.abortAll('shutdown');
  await exchanges.empty(END_MS);
  server.closeAllConnections();
  await exchanges.empty(END_MS);
}

function openExchange(
  { exchanges, observer }: Gateway,
  request: IncomingMessage,
  response: ServerResponse,
): Exchange {
  const exchange = new Exchange(request, response);
  exchanges.add(exchange);
  onceOver(request, response, () => {
    if (!response.writableFinished && !exchange.brokenOff) exchange.abort('client_closed');
    void exchange.handled.then(() => {
      exchanges.delete(exchange);
      observer.ended(exchange);
    });
  });
  return exchange;
}

/** Calls back when the answer is sent or its client is gone, which Node does not tell of an answer that waits behind others of its connection. */
function onceOver({ socket }: IncomingMessage, response: ServerResponse, callback: () => void): void {
  if (response.socket) {
    response.once('close', callback);
    return;
  }
  const over = () => {
    socket.off('close', over);
    response.off('close', over);
    callback();
  };
  // One for each request that was pipelined.
  socket.setMaxListeners(0).once('close', over);
  response.once('close', over);
}

/** What is no HTTP, or comes too slowly to be one request, is answered in the API's form before the connection ends. */
function onClientError(observer: Observer, error: NodeJS.ErrnoException, socket: Duplex): void {
  // It has its answer already.
  if (socket.writableEnded) return;
  const answering = (socket as { _httpMessage?: ServerResponse })._httpMessage;
  if (!socket.writable || error.code === 'ECONNRESET' || answering?.headersSent) return void socket.destroy();
  refuseRaw(observer, socket, refusalOf(error));
}

function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return { code: 'request_timeout', message: 'The request did not arrive in time.' };
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return { code: 'invalid_request', message: `The headers must be at most ${MAX_HEADER_BYTES} bytes.` };
  }
  return { code: 'invalid_request', message: 'The request is not valid HTTP.' };
}

/** What a client has time for to take a last answer and close. */
const MAX_CLOSE_MS = 2_000;

/** Ends the connection with an answer, whether its client closes it or not. */
function refuseRaw(observer: Observer, socket: Duplex, refusal: Refusal): void {
  // Node has taken its own listener off one that sent CONNECT, and it may be reset at any time.
  socket.on('error', () => {});
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
      ...(retryAfterS === undefined ? [] : [`retry-after: ${retryAfterS}`]),
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  observer.refusedRaw(requestId, refusal);
  // Closed on unread bytes a connection is reset, and the answer lost. What is read is no longer taken for a request.
  socket.removeAllListeners('data').on('data', () => {});
  const timer = setTimeout(() => socket.destroy(), MAX_CLOSE_MS);
  socket.once('close', () => clearTimeout(timer));
}
