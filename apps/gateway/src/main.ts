import { setTimeout as sleep } from 'node:timers/promises';
import { newInstanceId } from '@tidegate/contracts';
import { createLimiterClient, createRunnerClient, type Peer } from '@tidegate/rpc';
import {
  createLineLog,
  createLogger,
  createMetrics,
  type Logger,
  openStdout,
  runService,
  type Service,
  startAdmin,
} from '@tidegate/runtime';
import { startTracing } from '@tidegate/tracing';
import { Agent } from 'undici';
import { createGateway } from './assemble.ts';
import { createParser } from './body/parse.ts';
import { lowerHelperPriorities } from './body/priority.ts';
import type { PoolWatches } from './catalog/pool-watches.ts';
import { type Config, readConfig } from './config.ts';
import { makeRoomForFiles } from './file-table.ts';
import type { Gateway } from './gateway.ts';
import { type GatewayServer, startServer } from './http/server.ts';
import { createImageFetcher } from './images/fetch.ts';
import { createAddressFilter } from './images/public-address.ts';
import { createResolve } from './images/resolve.ts';
import type { RefusalReports } from './limiter/refusal-reports.ts';
import type { RemoteLimiter } from './limiter/remote-limiter.ts';
import { observeParts } from './observe/gauges.ts';
import { createConnector } from './upstream/connector.ts';

/** Added to the time for draining, to end remaining requests, flush and close. */
const SHUTDOWN_MARGIN_MS = 20_000;
/** How long the last settlements wait for a limiter, if none can be reached. */
const NO_LIMITER_MS = 8_000;
const LAST_REFUSALS_MS = 3_000;
/**
 * How long the API's port stays closed at most while the gateway is not ready. Some proxies do not
 * ask `/readyz`: they send requests as soon as the port is open.
 */
const FIRST_READY_MS = 1_000;
const FIRST_READY_POLL_MS = 10;
/**
 * Less than 5 s, after which common model servers close idle connections, possibly as the next
 * request arrives.
 */
const UPSTREAM_KEEP_ALIVE_MS = 4_000;

const monotonicMs = (): number => performance.now();

runService('gateway', async (service) => {
  lowerHelperPriorities();
  makeRoomForFiles();
  const config = readConfig();
  const logging = { service: 'gateway', level: config.LOG_LEVEL, destination: openStdout() };
  const log = createLogger(logging);
  const metrics = createMetrics('gateway');
  service.configure({
    logger: log,
    ports: { GATEWAY_PORT: config.GATEWAY_PORT, ADMIN_PORT: config.ADMIN_PORT },
    shutdownDelayMs: config.SHUTDOWN_DELAY_MS,
    shutdownTimeoutMs: config.SHUTDOWN_TIMEOUT_MS + SHUTDOWN_MARGIN_MS,
  });
  const tracing = await startTracing({ settings: config.tracing, service: 'gateway', metrics, log });
  service.onShutdown('tracing', () => tracing?.stop());

  const { gateway, watches, limiter, refusals } = createGateway({
    config,
    log,
    requestLog: createLineLog({ ...logging, nowMs: Date.now }),
    metrics,
    tracing,
    ...openClients(service, config, log),
    watchId: newInstanceId(),
    random: Math.random,
    nowMs: Date.now,
    monotonicMs,
  });
  let server: GatewayServer | null = null;
  const connections = async () => (await server?.connections()) ?? 0;
  observeParts(metrics, { gateway, watches, connections, monotonicMs });
  watches.start();
  service.onShutdown('catalog watches', () => watches.stop());
  limiter.start();
  service.onShutdown('limiter session', () => limiter.stop());
  service.onShutdown('reports of refusals', () => sendLastReport(refusals, log));

  const missing = () => missingFor(limiter, gateway.catalog, watches);
  const admin = await startAdmin({
    host: config.ADMIN_HOST,
    port: config.ADMIN_PORT,
    metrics,
    stopping: service.stopping,
    logger: log,
    ready: () => missing() ?? (server === null ? 'the port of the API is not open yet' : true),
  });
  service.onShutdown('admin', () => admin.close());
  const openBy = monotonicMs() + FIRST_READY_MS;
  while (missing() !== null && monotonicMs() < openBy) await sleep(FIRST_READY_POLL_MS);
  const started = await startServer(gateway);
  server = started;
  service.stopping.addEventListener('abort', () => started.leave());
  service.onShutdown('requests', async () => {
    const endMs = monotonicMs() + config.SHUTDOWN_TIMEOUT_MS;
    await started.drain(config.SHUTDOWN_TIMEOUT_MS);
    await settleLast(limiter, log, endMs - monotonicMs());
  });
  log.info({ port: started.port, adminPort: admin.port }, 'gateway is listening');
});

/** Opens the gateway's clients and workers. The service closes them at shutdown. */
function openClients(service: Service, config: Config, log: Logger) {
  const upstream = new Agent({
    connections: null,
    pipelining: 1,
    keepAliveTimeout: UPSTREAM_KEEP_ALIVE_MS,
    // One function for all servers, so that V8 optimizes it for all of them.
    connect: createConnector({ timeout: config.UPSTREAM_CONNECT_TIMEOUT_MS }),
  });
  service.onShutdown('upstream connections', () => upstream.destroy());
  const parser = createParser({
    onPoolError: (error) => log.error({ err: error }, 'a thread that parses bodies failed'),
  });
  service.onShutdown('body parser', () => parser.close());
  const images = createImageFetcher({
    timeoutMs: config.IMAGE_TIMEOUT_MS,
    resolve: createResolve(config.IMAGE_NAME_SERVERS),
    isAllowed: createAddressFilter(config.IMAGE_ALLOWED_NETWORKS),
  });
  const runners = new Map(
    config.RUNNER_ADDRESS.map(({ pool, address }) => [pool, createRunnerClient(address, config.caller)]),
  );
  service.onShutdown('runner clients', () => {
    for (const runner of runners.values()) runner.close();
  });
  const connectLimiter = (peer: Peer) => createLimiterClient(peer, config.caller);
  return { upstream, parser, images, runners, connectLimiter };
}

/** Why requests cannot be taken. Null: they can. */
function missingFor(
  limiter: Pick<RemoteLimiter, 'problem'>,
  catalog: Pick<Gateway['catalog'], 'known'>,
  watches: Pick<PoolWatches, 'tried'>,
): string | null {
  if (limiter.problem !== null) return limiter.problem;
  if (!catalog.known) return 'no catalog of models yet: no runner in RUNNER_ADDRESS has answered';
  return watches.tried ? null : 'the runners of some pools have not answered yet';
}

/**
 * Waits for the settlements of the last answers, which would be charged in full without them.
 *
 * @param leftMs what is left of the time for answers
 */
async function settleLast(limiter: RemoteLimiter, log: Logger, leftMs: number): Promise<void> {
  const left = limiter.unacknowledged;
  if (left > 0) log.info({ left }, 'waiting until a limiter acknowledges the last calls');
  if (!(await limiter.flush({ timeoutMs: Math.max(NO_LIMITER_MS, leftMs), noSessionMs: NO_LIMITER_MS })))
    log.warn({ left: limiter.unacknowledged }, 'unacknowledged calls are left to the reaper');
}

async function sendLastReport(refusals: RefusalReports, log: Logger): Promise<void> {
  await refusals.close(LAST_REFUSALS_MS);
  const { unreported } = refusals;
  if (unreported > 0) log.warn({ refusals: unreported }, 'some refusals may not have been recorded');
}
