import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clientAddress, createProxyWarning, type Logger } from '@tidegate/runtime';
import {
  CLIENT_LIMITS,
  type ClientLimits,
  limitBody,
  limitConnections,
  serverOptionsOf,
} from './client-limits.ts';
import { dropRest, nextOnConnection } from './connection.ts';
import { CLIENT_ADDRESS_HEADER, NONCE_HEADER, PATH_HEADER } from './names.ts';
import { QUEUE_LIMITS, type QueueLimits, RequestQueue } from './request-queue.ts';
import { securityHeaders } from './security.ts';

const NONCE_BYTES = 18;
const PLAIN = { 'content-type': 'text/plain; charset=utf-8' };
/** Less than main.ts allows for the shutdown of the service. */
const DRAIN_MS = 8_000;
const BUSY = { ...PLAIN, 'retry-after': '1' };

export interface SiteOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly consoleUrl: string;
  /** Other origins to which the answer to a form may lead: the identity provider's. */
  readonly formOrigins: readonly string[];
  readonly trustedProxies: number;
  readonly logger: Logger;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly limits?: ClientLimits;
  readonly queueLimits?: QueueLimits;
  /** How long answers may take to end once the site closes. */
  readonly drainMs?: number;
}

export interface Site {
  readonly port: number;
  /** From now on each answer ends its connection, so callers open the next one elsewhere. */
  leave(): void;
  /** Finishes the requests in progress. Those that take too long are cut off. */
  close(): Promise<void>;
}

/**
 * The console's HTTP server. Every request gets a nonce and every response the security headers.
 */
export async function startSite(options: SiteOptions): Promise<Site> {
  const { logger, handle, limits = CLIENT_LIMITS, drainMs = DRAIN_MS } = options;
  const warnOfProxy = createProxyWarning(options.trustedProxies, logger);
  const queue = new RequestQueue(options.queueLimits ?? QUEUE_LIMITS);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    await nextOnConnection(request, response);
    const turn = queue.take(String(request.headers[CLIENT_ADDRESS_HEADER]));
    if (!turn) return void response.writeHead(503, BUSY).end('The console is busy. Try again.\n');
    const end = await turn;
    if (response.destroyed) return end();
    response.once('close', end);
    await handle(request, response);
  };
  const answering = new Set<ServerResponse>();
  let leaving = false;
  const server = createServer(serverOptionsOf(limits), (request, response) => {
    answering.add(response);
    if (leaving) response.shouldKeepAlive = false;
    response.once('close', () => answering.delete(response));
    // The framework's own requests have the headers that the server and the framework have set.
    if (request.headers[CLIENT_ADDRESS_HEADER] === undefined) warnOfProxy(request.rawHeaders);
    request.url = pathOf(request.url);
    secure(request, response, options);
    if (!isReadable(request.url))
      return void response.writeHead(400, PLAIN).end('Bad request: invalid path.\n');
    if (!isOwn(request, options.consoleUrl)) return void response.writeHead(403).end();
    if (!limitBody(request, response, limits)) return;
    dropRest(request, response);
    vouchForOrigin(request);
    answer(request, response).catch((err: unknown) => {
      logger.error({ err }, 'a request failed');
      if (response.headersSent) return void response.destroy();
      response.writeHead(500, PLAIN).end('Something went wrong.\n');
    });
  });
  limitConnections(server, limits);
  server.listen(options.port, options.host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    leave: () => {
      leaving = true;
      for (const response of answering) response.shouldKeepAlive = false;
    },
    close: () => close(server, answering, drainMs),
  };
}

/**
 * Sets the headers that only this server may set, and overwrites what a caller sent under their
 * names.
 */
function secure(
  request: IncomingMessage,
  response: ServerResponse,
  { trustedProxies, ...origins }: SiteOptions,
): void {
  const nonce = randomBytes(NONCE_BYTES).toString('base64');
  const headers = securityHeaders(nonce, origins);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // The framework reads the nonce for its own scripts from this header.
  request.headers['content-security-policy'] = headers['content-security-policy'];
  request.headers[NONCE_HEADER] = nonce;
  request.headers[CLIENT_ADDRESS_HEADER] = clientAddress(request, trustedProxies);
  request.headers[PATH_HEADER] = request.url ?? '/';
  // When an action redirects, the framework fetches the other page from here over this scheme. A
  // proxy's callers use https. This server never does.
  delete request.headers['x-forwarded-proto'];
}

/**
 * The path and query of what was asked for. HTTP also allows a whole address, whose host the
 * framework would redirect to.
 */
function pathOf(asked = '/'): string {
  const path = asked.replace(/^https?:\/\/[^/?#]*/i, '');
  return path === asked || path.startsWith('/') ? path : `/${path}`;
}

/**
 * Whether this is a path that, like its query, is text: percent-encoded UTF-8 without NUL, which no
 * name or id has. The framework fails on anything else, and so does Postgres.
 */
function isReadable(url = '/'): boolean {
  try {
    return url.startsWith('/') && !decodeURIComponent(url).includes('\u0000');
  } catch {
    return false;
  }
}

const READING = new Set(['GET', 'HEAD']);

/**
 * Whether a request may proceed: it changes nothing, or it comes from the console's own pages.
 * Otherwise another site could use a visitor's session. Browsers send the origin in Origin and
 * Sec-Fetch-Site.
 */
const isOwn = ({ method = '', headers }: IncomingMessage, consoleUrl: string): boolean =>
  READING.has(method) || headers['sec-fetch-site'] === 'same-origin' || headers.origin === consoleUrl;

/**
 * The framework also compares the Origin of a change with the host. A proxy may have replaced the
 * host with its own name for this server. So this sets the host to the Origin's, which has been
 * checked.
 */
function vouchForOrigin({ method = '', headers }: IncomingMessage): void {
  if (READING.has(method) || !headers.origin || !URL.canParse(headers.origin)) return;
  headers['x-forwarded-host'] = new URL(headers.origin).host;
}

/** Also closes connections after their answers. They would stay open, as browsers ask. */
async function close(server: Server, answering: ReadonlySet<ServerResponse>, drainMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const closeIdle = () => setImmediate(() => server.closeIdleConnections());
  for (const response of answering) response.once('close', closeIdle);
  const cutOff = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed;
  clearTimeout(cutOff);
}
