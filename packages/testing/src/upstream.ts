import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it arrived, with its whole body. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body parsed. @throws SyntaxError when it is not JSON */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of their own making
  json(): any;
}

export interface ReplyHead {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers one request, rightly or wrongly. */
export interface UpstreamReply {
  /** Sends a whole JSON answer. */
  json(value: unknown, head?: ReplyHead): void;
  /**
   * Sends the head of an answer, by default of an event stream. The first write does it if need be.
   */
  start(head?: ReplyHead): void;
  /** Sends raw bytes. Resolves when the system has taken them, or when the client is gone. */
  write(bytes: string | Uint8Array): Promise<void>;
  /** Sends one event: `data: ` and the value as JSON, or a string as it is. */
  event(value: unknown): Promise<void>;
  /** Sends `[DONE]` and ends the answer. */
  done(): Promise<void>;
  /** Ends the answer normally. */
  end(): void;
  /** Resets the connection (RST), whatever was sent. */
  reset(): void;
  /**
   * Resolves when this request's connection is gone. Await it to stall until the client gives up.
   */
  readonly closed: Promise<void>;
}

export type UpstreamHandler = (request: ReceivedRequest, reply: UpstreamReply) => void | Promise<void>;

export interface Upstream {
  readonly url: string;
  readonly port: number;
  /** All requests so far, oldest first. */
  readonly requests: readonly ReceivedRequest[];
  /** Answers that have not ended yet. */
  readonly inFlight: number;
  /** The most answers that were ever in flight at once. */
  readonly peakInFlight: number;
  /** Ends the server and every connection; idempotent. */
  close(): Promise<void>;
}

/** Starts an HTTP server on 127.0.0.1. A handler that throws resets its connection. */
export async function startUpstream(handler: UpstreamHandler): Promise<Upstream> {
  const requests: ReceivedRequest[] = [];
  let inFlight = 0;
  let peakInFlight = 0;
  const server = createServer((incoming, outgoing) => {
    inFlight++;
    peakInFlight = Math.max(peakInFlight, inFlight);
    outgoing.once('close', () => inFlight--);
    const reply = createReply(outgoing);
    readRequest(incoming)
      .then((request) => {
        requests.push(request);
        return handler(request, reply);
      })
      .catch(() => reply.reset());
  });
  // Idle connections stay open, so that no request meets one that is being closed.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    get inFlight() {
      return inFlight;
    },
    get peakInFlight() {
      return peakInFlight;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readRequest(incoming: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString('utf8');
  const { method = '', url: path = '', headers } = incoming;
  return { method, path, headers, body, json: () => JSON.parse(body) };
}

function createReply(outgoing: ServerResponse): UpstreamReply {
  const closed = new Promise<void>((resolve) => outgoing.once('close', resolve));
  const start = ({ status = 200, headers = { 'content-type': 'text/event-stream' } }: ReplyHead = {}) => {
    outgoing.writeHead(status, headers);
    outgoing.flushHeaders();
  };
  const write = (bytes: string | Uint8Array) => {
    if (!outgoing.headersSent) start();
    return Promise.race([new Promise<void>((resolve) => outgoing.write(bytes, () => resolve())), closed]);
  };
  const event = (value: unknown) =>
    write(`data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`);
  return {
    closed,
    start,
    write,
    event,
    json: (value, { status = 200, headers = {} } = {}) => {
      outgoing.writeHead(status, { 'content-type': 'application/json', ...headers });
      outgoing.end(JSON.stringify(value));
    },
    done: async () => {
      await event('[DONE]');
      outgoing.end();
    },
    end: () => outgoing.end(),
    reset: () => {
      outgoing.socket?.resetAndDestroy();
    },
  };
}
