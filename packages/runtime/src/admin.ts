import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from './metrics.ts';
import { version } from './version.ts';
import { answerWithin } from './within.ts';

/** A slower readiness check counts as not ready. A slower metric is left out. */
const ANSWER_TIMEOUT_MS = 2_000;

type Readiness = boolean | string;

export interface AdminOptions {
  /** 0: any free port. */
  readonly port: number;
  readonly host: string;
  readonly metrics: Registry;
  /**
   * Whether this process can take work now. False, a text (the reason), an exception and a late
   * answer all mean no.
   */
  readonly ready: () => Readiness | Promise<Readiness>;
}

export interface Admin {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves `/healthz` (the process is alive, and its release), `/readyz` (200 or 503) and `/metrics`.
 * Metrics whose `collect` fails or is late are left out. Rejects when the port is taken.
 */
export async function startAdmin({ port, host, metrics, ready }: AdminOptions): Promise<Admin> {
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(response, 405, 'method not allowed\n');
    if (path === '/healthz') return answer(response, 200, `live ${version}\n`);
    if (path === '/readyz')
      return void answerWithin<Readiness, boolean>(ready, ANSWER_TIMEOUT_MS, false).then((said) => {
        if (said === true) answer(response, 200, 'ready\n');
        else answer(response, 503, said === false ? 'not ready\n' : `not ready: ${said}\n`);
      });
    if (path === '/metrics') return void sendMetrics(metrics, response);
    answer(response, 404, 'not found\n');
  });
  server.listen(port, host);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

function answer(
  response: ServerResponse,
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) }).end(text);
}

async function sendMetrics(metrics: Registry, response: ServerResponse): Promise<void> {
  const texts = await Promise.all(
    metrics
      .getMetricsAsArray()
      .map(({ name }) => answerWithin(() => metrics.getSingleMetricAsString(name), ANSWER_TIMEOUT_MS, '')),
  );
  answer(response, 200, `${texts.filter(Boolean).join('\n\n')}\n`, metrics.contentType);
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
