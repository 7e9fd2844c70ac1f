import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startChore } from './chore.ts';
import type { Logger } from './logger.ts';
import type { Registry } from './metrics.ts';
import { version } from './version.ts';
import { answerWithin, within } from './within.ts';

/** A slower readiness check counts as not ready. A slower metric is left out. */
const ANSWER_TIMEOUT_MS = 2_000;
/** How often the process checks whether it is ready, for its log, even if nobody asks. */
const LOOK_MS = 10_000;

/** True, or what is missing, for operators. */
type Readiness = true | string;

export interface AdminOptions {
  /** 0: any free port. */
  readonly port: number;
  readonly host: string;
  readonly metrics: Registry;
  /** Whether this process can take work now. An exception and a late answer mean no. */
  readonly ready: () => Readiness | Promise<Readiness>;
  /** Once it is aborted, the process is not ready. */
  readonly stopping?: AbortSignal;
  /** Explains an exception from `ready` in plain words. Null: it has no explanation. */
  readonly explain?: (error: unknown) => string | null;
  /** Gets a line for each change of readiness, with the reason. */
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

export interface Admin {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves `/healthz` (that the process is alive, and its release), `/readyz` (200 or 503) and
 * `/metrics`. Metrics whose `collect` fails or is late are left out. Rejects when the port is
 * taken.
 */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const { port, host, metrics } = options;
  const readiness = readinessOf(options);
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(response, 405, 'method not allowed\n');
    if (path === '/healthz') return answer(response, 200, `live ${version}\n`);
    if (path === '/readyz')
      return void readiness().then((said) => {
        if (said === true) answer(response, 200, 'ready\n');
        else answer(response, 503, `not ready: ${said}\n`);
      });
    if (path === '/metrics') return void sendMetrics(metrics, response);
    answer(response, 404, 'not found\n');
  });
  server.listen(port, host);
  await once(server, 'listening');
  const look = startChore({ everyMs: LOOK_MS, run: readiness, onError: () => {} });
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      await close(server);
      await look.stop();
    },
  };
}

/** Asks whether the process is ready, and logs each change of the answer. Never rejects. */
function readinessOf({ ready, stopping, explain, logger }: AdminOptions): () => Promise<Readiness> {
  let last: Readiness = true;
  return async () => {
    if (stopping?.aborted) return 'it is shutting down';
    let err: unknown;
    const asked = async () => ready();
    const said = await within<Readiness, string>(
      asked().catch((error) => {
        const reason = explain?.(error) ?? null;
        if (reason === null) err = error;
        return reason ?? 'the readiness check failed';
      }),
      ANSWER_TIMEOUT_MS,
      `the readiness check took more than ${ANSWER_TIMEOUT_MS / 1_000} s`,
    );
    if (said === last || stopping?.aborted) return said;
    last = said;
    if (said === true) logger.info('ready again');
    else logger.warn({ reason: said, err }, 'not ready');
    return said;
  };
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
