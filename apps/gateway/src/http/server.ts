import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import { isRefusal } from '@tidegate/contracts';
import { refuseBlockedAddress } from '../auth/authenticate.ts';
import type { Gateway } from '../gateway.ts';
import { createApp } from './app.ts';
import { type ClientError, type ClientErrorDeps, MAX_HEADER_BYTES, onClientError } from './client-error.ts';
import { Exchange } from './exchange.ts';
import { probeHalfClosed } from './half-closed.ts';
import { rejectExcessPipelining } from './pipelined.ts';
import { refuseTunnel } from './refuse-raw.ts';
import { misrouted } from './routes.ts';
import { abandonUnread } from './unread-answer.ts';

/**
 * Added to the deadlines of headers and body, which have their own answers. The sum cuts off bodies
 * that nobody reads.
 */
const REQUEST_TIMEOUT_MARGIN_MS = 5_000;
/** How late those deadlines may fire. Node's default is 30 s. */
const CHECK_CONNECTIONS_MS = 1_000;
/** Longer than the minute that load balancers usually allow: they should be the ones to close. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

export interface GatewayServer {
  readonly port: number;
  /** Resolves to the number of open connections. */
  connections(): Promise<number>;
  /** From now on each answer ends its connection, so clients open the next one elsewhere. */
  leave(): void;
  /**
   * Stops accepting connections, lets requests finish for `timeoutMs`, then ends the rest. Resolves
   * once every request is over and either settled or waiting for its settlement to be acknowledged.
   */
  drain(timeoutMs: number): Promise<void>;
}

/** By connection: a request that was answered before its body had arrived. */
type UnreadRequests = WeakMap<Duplex, IncomingMessage>;

/** Serves the API. Rejects if the port is taken. */
export async function startServer(gateway: Gateway): Promise<GatewayServer> {
  const { config, exchanges } = gateway;
  const app = createApp(gateway);
  const leaving = new Leaving();
  const unread: UnreadRequests = new WeakMap();
  const server = createServer({
    ...app.classes,
    maxHeaderSize: MAX_HEADER_BYTES,
    requireHostHeader: false,
    headersTimeout: config.HEADERS_TIMEOUT_MS,
    requestTimeout: config.HEADERS_TIMEOUT_MS + config.BODY_TIMEOUT_MS + REQUEST_TIMEOUT_MARGIN_MS,
    connectionsCheckingInterval: CHECK_CONNECTIONS_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  });
  // A client that has closed its half of the connection gets its answer. `probeHalfClosed` finds
  // out whether it is still there.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', probeHalfClosed);
  server.maxConnections = config.MAX_CONNECTIONS;
  // `maxHeaderSize` bounds the headers. A limit on their number would silently drop the rest, which
  // might include a second key.
  server.maxHeadersCount = 0;
  const serve = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean) => {
    if (rejectExcessPipelining(request, response) || !leaving.mayBegin(request, response)) return;
    const exchange = openExchange(gateway, request, response, unread);
    exchange.awaitsContinue = awaitsContinue;
    app.handle(exchange);
    void exchange.handled.then(() => abandonUnread(response, config.UNREAD_ANSWER_TIMEOUT_MS));
  };
  server.on('request', (request, response) => serve(request, response, false));
  server.on('checkExpectation', (request, response) => serve(request, response, false));
  server.on('checkContinue', (request, response) => serve(request, response, true));
  const tunnels = refuseRawInput(server, gateway, unread);
  server.listen(config.GATEWAY_PORT, config.GATEWAY_HOST);
  await once(server, 'listening');
  const leave = () => leaving.begin(exchanges);
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => promisify(server.getConnections.bind(server))(),
    leave,
    drain: async (timeoutMs) => {
      leave();
      const closed = once(server, 'close');
      server.close();
      if (!(await exchanges.empty(timeoutMs))) await endAll(server, gateway);
      server.closeAllConnections();
      for (const socket of tunnels) socket.destroy();
      await closed;
    },
  };
}

/**
 * Ends each connection with an answer, once it has begun. Node drops what waits behind the last
 * answer of a connection, so that is the newest one, and no request behind it is begun: its client
 * may send it again.
 */
class Leaving {
  readonly #ending = new WeakSet<Duplex>();
  #begun = false;

  begin(exchanges: Iterable<Exchange>): void {
    this.#begun = true;
    const newest = new Map<Duplex, ServerResponse>();
    for (const { request, response } of exchanges) newest.set(request.socket, response);
    // An answer whose head is sent has promised to keep the connection. The next one ends it.
    for (const [socket, response] of newest) if (!response.headersSent) this.#end(socket, response);
  }

  /** Whether a new request may begin. If so, its answer may be the last of its connection. */
  mayBegin({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (!this.#begun) return true;
    if (this.#ending.has(socket)) return false;
    this.#end(socket, response);
    return true;
  }

  #end(socket: Duplex, response: ServerResponse): void {
    response.shouldKeepAlive = false;
    this.#ending.add(socket);
  }
}

/**
 * Refuses what Node does not turn into a request: tunnels, and input that its parser cannot read.
 * Returns the open tunnels, because Node no longer counts them among the server's connections.
 */
function refuseRawInput(server: Server, gateway: Gateway, unread: UnreadRequests): ReadonlySet<Duplex> {
  const raw: ClientErrorDeps = {
    observer: gateway.observer,
    unreadTimeoutMs: gateway.config.UNREAD_ANSWER_TIMEOUT_MS,
    refuseBlocked: (socket) => refuseBlockedAddress(gateway, { socket, headers: {} }),
    isAnswered: (socket) => unread.get(socket)?.complete === false,
  };
  const tunnels = new Set<Duplex>();
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    tunnels.add(socket);
    socket.once('close', () => tunnels.delete(socket));
    const blocked = refuseBlockedAddress(gateway, request);
    refuseTunnel(raw, socket, isRefusal(blocked) ? blocked : misrouted(undefined).refusal);
  });
  server.on('clientError', (error: ClientError, socket: Duplex) => onClientError(raw, error, socket));
  return tunnels;
}

/** The longest that an abort takes to settle and to tell the client. */
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
  unread: UnreadRequests,
): Exchange {
  const exchange = new Exchange(request, response);
  exchanges.add(exchange);
  onceOver(request, response, () => {
    if (!request.complete) unread.set(request.socket, request);
    if (!response.writableFinished && !exchange.brokenOff) exchange.abort('client_closed');
    void exchange.handled.then(() => {
      exchange.held?.releaseAnswer(0);
      exchanges.delete(exchange);
      observer.ended(exchange);
    });
  });
  return exchange;
}

/**
 * Calls back when the answer is sent or its client is gone. For an answer that waits behind others
 * on its connection, Node does not report that the client is gone.
 */
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
  // One listener per pipelined request.
  socket.setMaxListeners(0).once('close', over);
  response.once('close', over);
}
