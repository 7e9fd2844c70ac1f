import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Recorded {
  /** Names of the body's fields, sorted. */
  readonly members: readonly string[];
  readonly body: Readonly<Record<string, unknown>>;
  readonly status: number;
  readonly code: string | undefined;
  readonly retryAfter: string | undefined;
}

export interface Recorder {
  /** The API's address through the recorder. */
  readonly base: string;
  /** The answered calls, in order. */
  readonly calls: readonly Recorded[];
  close(): Promise<void>;
}

const open = new Set<string>();

/** The addresses of all open recorders. What passes them is an exchange with a gateway. */
export const recorders = (): readonly string[] => [...open];

/**
 * A proxy between a client and a real gateway that records each call. It forwards the nth call
 * (from 1) when `before(n)` has resolved.
 */
export async function record(target: string, before: (n: number) => unknown = () => {}): Promise<Recorder> {
  const { hostname, port } = new URL(target);
  const calls: Recorded[] = [];
  let arrived = 0;
  const server = createServer(async (request, response) => {
    const n = ++arrived;
    const sent = await read(request);
    await before(n);
    const { method, url: path, headers } = request;
    const upstream = send({ hostname, port, method, path, headers }, async (answer) => {
      const received = await read(answer);
      const { statusCode: status = 0 } = answer;
      const body = parse(sent);
      const { error } = parse(received) as { error?: { code: string } };
      const retryAfter = answer.headers['retry-after'];
      calls.push({ members: Object.keys(body).sort(), body, status, code: error?.code, retryAfter });
      response.writeHead(status, answer.headers).end(received);
    });
    upstream.on('error', () => response.destroy());
    upstream.end(sent);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  open.add(base);
  return {
    base,
    calls,
    close: () =>
      new Promise((resolve) => {
        open.delete(base);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function read(message: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
