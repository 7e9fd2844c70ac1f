import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));

/** The certificate authority (PEM) of the server. Made for these tests; valid from 2020 to 2120. */
export const AUTHORITY = fixture('ca.pem');

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface ImageServer {
  readonly port: number;
  /** Handlers by path. */
  readonly handlers: Map<string, Handler>;
  /** The address of this machine that each connection so far came to. */
  readonly reached: string[];
  close(): void;
}

/**
 * Starts an HTTPS server for images.test, *.images.test and 127.0.0.2, on every address of this
 * machine.
 */
export async function startImageServer(): Promise<ImageServer> {
  const handlers = new Map<string, Handler>();
  const reached: string[] = [];
  const server = createServer(
    { cert: readFileSync(fixture('server.pem')), key: readFileSync(fixture('server.key')) },
    (request, response) => {
      const handler = handlers.get(request.url ?? '');
      if (handler) handler(request, response);
      else response.writeHead(404).end();
    },
  );
  server.on('connection', ({ localAddress }: Socket) => reached.push(localAddress ?? ''));
  server.listen(0, '::');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    handlers,
    reached,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
