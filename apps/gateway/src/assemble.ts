import { status } from '@grpc/grpc-js';
import { CUT_OFF_MS } from '@tidegate/contracts';
import {
  callUnary,
  type LimiterClient,
  type ModelState__Output,
  type Notice__Output,
  type Peer,
  Peers,
  type RunnerClient,
} from '@tidegate/rpc';
import type { LineLog, Logger, Registry } from '@tidegate/runtime';
import type { Tracing } from '@tidegate/tracing';
import type { Dispatcher } from 'undici';
import { BlockedAddresses } from './auth/blocked-addresses.ts';
import { Principals } from './auth/principals.ts';
import { ByteBudget } from './body/byte-budget.ts';
import { BODY_BYTES_A_TURN } from './body/read-body.ts';
import { Activity } from './catalog/activity.ts';
import { Catalog } from './catalog/catalog.ts';
import { PoolWatches } from './catalog/pool-watches.ts';
import { Replicas } from './catalog/replicas.ts';
import { type WakeAnswer, Waker } from './catalog/wake.ts';
import { CatalogWatch } from './catalog/watch.ts';
import type { Config } from './config.ts';
import type { Gateway } from './gateway.ts';
import { Exchanges } from './http/exchange.ts';
import { RefusalReports } from './limiter/refusal-reports.ts';
import { RemoteLimiter } from './limiter/remote-limiter.ts';
import { LoopTurns } from './loop-turns.ts';
import { Observer } from './observe/observer.ts';
import { warmUp } from './upstream/warm-up.ts';

const MAX_PRINCIPALS = 20_000;
const MAX_BLOCKED_ADDRESSES = 100_000;
const MAX_OPEN_CALLS = 50_000;
const WAKE_RETRY_MS = 1_000;
const ACTIVITY_EVERY_MS = 1_000;
/** How often the limiters' host names are looked up. */
const RESOLVE_EVERY_MS = 10_000;

export interface GatewayParts {
  readonly config: Config;
  readonly log: Logger;
  /** One line per request. */
  readonly requestLog: LineLog;
  readonly metrics: Registry;
  /** Null: off. */
  readonly tracing: Tracing | null;
  readonly upstream: Dispatcher;
  readonly parser: Gateway['parser'];
  readonly images: Gateway['images'];
  /** By pool. */
  readonly runners: ReadonlyMap<string, RunnerClient>;
  readonly connectLimiter: (peer: Peer) => LimiterClient;
  /** Identifies this process to the runner, and in reports of refusals. */
  readonly watchId: string;
  readonly random: () => number;
  /** Unix time. */
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  /** See `LeaseOptions`. Default: a little less than a lease lasts. */
  readonly cutOffMs?: number;
}

export interface AssembledGateway {
  readonly gateway: Gateway;
  readonly limiter: RemoteLimiter;
  readonly refusals: RefusalReports;
  readonly watches: PoolWatches;
}

/** Builds the gateway without starting anything. */
export function createGateway(parts: GatewayParts): AssembledGateway {
  const { config, runners, nowMs, monotonicMs } = parts;
  const exchanges = new Exchanges();
  const replicas = new Replicas(monotonicMs);
  const catalog = new Catalog([...runners.keys()], (before, after) =>
    replicas.changed(before.replicas, after.replicas),
  );
  const activity = new Activity();
  const blocked = new BlockedAddresses(MAX_BLOCKED_ADDRESSES, monotonicMs);
  const principals: Principals = new Principals({
    authenticate: (orgTag, keyHash) => limiter.authenticate(orgTag, keyHash),
    ttlMs: config.PRINCIPAL_TTL_MS,
    maxEntries: MAX_PRINCIPALS,
    nowMs,
    monotonicMs,
  });
  const refusals: RefusalReports = new RefusalReports({
    gatewayId: parts.watchId,
    send: (report) => limiter.reportRefusals(report),
    nowMs,
    onUnrecorded: (count) => observer.unrecorded(count),
  });
  const observer = new Observer({ ...parts, registry: parts.metrics, catalog, record: refusals });
  const limiter: RemoteLimiter = createLimiter(parts, {
    onCalled: (ms) => observer.limiterAnswered(ms),
    onDown: () => principals.dropAll(),
    onLeaseLost: (instanceId) => exchanges.abortInstance(instanceId),
    onNotice: (notice) => applyNotice(notice, { principals, blocked, exchanges }),
  });
  const gateway: Gateway = {
    ...parts,
    principals,
    blocked,
    trustedProxies: config.TRUSTED_PROXIES,
    limiter,
    catalog,
    activity,
    waker: createWaker(parts, catalog, limiter),
    replicas,
    bodyBudget: new ByteBudget(config.MAX_BUFFERED_BODY_BYTES),
    readTurns: new LoopTurns(BODY_BYTES_A_TURN),
    exchanges,
    observer,
  };
  return { gateway, limiter, refusals, watches: createWatches(parts, catalog, activity) };
}

const createWaker = (
  { runners, upstream, monotonicMs }: GatewayParts,
  catalog: Catalog,
  limiter: RemoteLimiter,
): Waker =>
  new Waker({
    catalog,
    wake: async (modelId, deadlineMs, asker) => {
      const runner = runners.get(catalog.poolOf(modelId) ?? '');
      const { requestId, traceparent = '' } = asker;
      const request = { modelId, requestId, traceparent };
      return runner ? wakeOutcome(callUnary(runner, 'wake', request, { deadlineMs })) : 'failed';
    },
    retryMs: WAKE_RETRY_MS,
    onCrowd: (waits) => void warmUp(upstream, () => limiter.rehearseReserve(), waits),
    nowMs: monotonicMs,
  });

function createWatches(parts: GatewayParts, catalog: Catalog, activity: Activity): PoolWatches {
  const { config, runners, watchId, log } = parts;
  const watches = [...runners].map(
    ([pool, client]) =>
      new CatalogWatch({
        pool,
        client,
        catalog,
        activity,
        instanceId: watchId,
        reportMs: ACTIVITY_EVERY_MS,
        reconnectMs: config.RECONNECT_MS,
        log,
      }),
  );
  return new PoolWatches(watches);
}

type LimiterEvents = Pick<
  ConstructorParameters<typeof RemoteLimiter>[0],
  'onCalled' | 'onDown' | 'onLeaseLost' | 'onNotice'
>;

function createLimiter(
  { config, log, connectLimiter, random, monotonicMs, cutOffMs = CUT_OFF_MS }: GatewayParts,
  events: LimiterEvents,
): RemoteLimiter {
  return new RemoteLimiter({
    peers: new Peers({ addresses: config.LIMITER_ADDRESSES, random, nowMs: monotonicMs }),
    connect: connectLimiter,
    random,
    nowMs: monotonicMs,
    log,
    callTimeoutMs: config.LIMITER_CALL_TIMEOUT_MS,
    silenceMs: config.LIMITER_SILENCE_MS,
    reconnectMs: config.RECONNECT_MS,
    findBetterMs: RESOLVE_EVERY_MS,
    heartbeatMs: config.HEARTBEAT_MS,
    cutOffMs,
    settleWaitMs: config.SETTLE_WAIT_MS,
    maxOpenCalls: MAX_OPEN_CALLS,
    maxUnacknowledged: config.MAX_REQUESTS_IN_FLIGHT,
    ...events,
  });
}

function applyNotice(
  notice: Notice__Output,
  { principals, blocked, exchanges }: Pick<Gateway, 'principals' | 'blocked' | 'exchanges'>,
): void {
  const { keyRevoked, orgChanged, orgDeleted, addressBlocked } = notice;
  if (keyRevoked) principals.dropKey(keyRevoked.keyId);
  if (orgChanged) principals.dropOrg(orgChanged.orgId);
  if (orgDeleted) {
    principals.dropOrg(orgDeleted.orgId);
    exchanges.abortOrg(orgDeleted.orgId);
  }
  if (addressBlocked) blocked.block(addressBlocked.address, addressBlocked.remainingMs);
}

/** The statuses with which the runner refuses a wake: the model is gone or cannot be woken. */
const CANNOT_START = new Set<number>([status.NOT_FOUND, status.FAILED_PRECONDITION, status.INVALID_ARGUMENT]);

async function wakeOutcome(state: Promise<ModelState__Output>): Promise<WakeAnswer> {
  try {
    const { condition } = await state;
    if (condition === 'CONDITION_RUNNING') return 'running';
    if (condition === 'CONDITION_STOPPED') return 'stopped';
    return condition === 'CONDITION_FAILED' ? 'failed' : 'unavailable';
  } catch (error) {
    return CANNOT_START.has((error as { code: number }).code) ? 'failed' : 'unavailable';
  }
}
