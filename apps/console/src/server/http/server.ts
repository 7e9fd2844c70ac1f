import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clientAddress, type Logger } from '@tidegate/runtime';
import { CLIENT_ADDRESS_HEADER, NONCE_HEADER, PATH_HEADER } from './names.ts';
import { securityHeaders } from './security.ts';

const NONCE_BYTES = 18;

export interface SiteOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly consoleUrl: string;
  readonly trustedProxies: number;
  readonly logger: Logger;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}

export interface Site {
  readonly port: number;
  /** Finishes what is being answered. */
  close(): Promise<void>;
}

/** The console's HTTP face: every request gets its nonce, every answer the security headers. */
export async function startSite(options: SiteOptions): Promise<Site> {
  const { logger, handle } = options;
  const server = createServer((request, response) => {
    secure(request, response, options);
    if (!isOwn(request, options.consoleUrl)) return void response.writeHead(403).end();
    vouchForOrigin(request);
    handle(request, response).catch((err: unknown) => {
      logger.error({ err }, 'a request failed');
      if (response.headersSent) return void response.destroy();
      response.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' }).end('Something went wrong.\n');
    });
  });
  server.listen(options.port, options.host);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

/** Names that only this server may give replace whatever a caller sent under them. */
function secure(
  request: IncomingMessage,
  response: ServerResponse,
  { consoleUrl, trustedProxies }: SiteOptions,
): void {
  const nonce = randomBytes(NONCE_BYTES).toString('base64');
  const headers = securityHeaders(nonce, consoleUrl);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // The framework reads the nonce for its own scripts from here.
  request.headers['content-security-policy'] = headers['content-security-policy'];
  request.headers[NONCE_HEADER] = nonce;
  request.headers[CLIENT_ADDRESS_HEADER] = clientAddress(request, trustedProxies);
  request.headers[PATH_HEADER] = request.url ?? '/';
}

const READING = new Set(['GET', 'HEAD']);

/**
 * Whether a request comes from the console's own pages, if it may change anything: another site could otherwise spend a
 * visitor's session. Browsers say where from in Origin, and in Sec-Fetch-Site.
 */
const isOwn = ({ method = '', headers }: IncomingMessage, consoleUrl: string): boolean =>
  READING.has(method) || headers['sec-fetch-site'] === 'same-origin' || headers.origin === consoleUrl;

/**
 * The framework compares the Origin of a change with the host again, which a proxy may have replaced by the name it has for
 * this server: it is given the host that was found to be the console's own.
 */
function vouchForOrigin({ method = '', headers }: IncomingMessage): void {
  if (READING.has(method) || !headers.origin || !URL.canParse(headers.origin)) return;
  headers['x-forwarded-host'] = new URL(headers.origin).host;
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  await closed;
}
