import { randomBase62 } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import { LIMITS } from '@tidegate/limits';
import type { Call__Output } from '@tidegate/rpc';
import type { Logger, Registry, Trust } from '@tidegate/runtime';
import type { Tracing } from '@tidegate/tracing';
import { Admissions } from './admission/admissions.ts';
import { startChore } from './chore.ts';
import { DeletedOrgs, startForgetting } from './deletion/deleted-orgs.ts';
import { LastUses } from './keys/last-uses.ts';
import { Leases } from './leases/leases.ts';
import { Reaper } from './leases/reaper.ts';
import { startReaper } from './leases/start-reaper.ts';
import { LimiterError } from './limiter-error.ts';
import { createLimiterMetrics } from './metrics.ts';
import { NoticeHub } from './notices/hub.ts';
import { startOutbox } from './outbox/outbox.ts';
import { readState } from './read-state.ts';
import { OlderCopies, startOlderCopies } from './recovery/older-copies.ts';
import { Recovery, startRecovery } from './recovery/recovery.ts';
import { LimiterClock } from './redis/clock.ts';
import { warnOfDurability } from './redis/durability.ts';
import { createRedisLink } from './redis/link.ts';
import { Lock } from './redis/lock.ts';
import { KeyNames } from './redis/names.ts';
import { Store } from './redis/store.ts';
import { RefusalWriter } from './refusals/writer.ts';
import type { ScriptDeps } from './script-deps.ts';
import { Seeder } from './seeding/seeder.ts';
import { startServer } from './server.ts';
import { countedDispatch } from './session/counted.ts';
import { requestIdOf } from './session/ids.ts';
import { Sessions } from './session/sessions.ts';
import { observeLimiter } from './state-metrics.ts';
import { unaryHandlers } from './unary.ts';

const REAPER_LOCK_MS = 5_000;
const MAX_OPEN_CALLS = 20_000;
/** Minimum time between two log lines about Postgres, since every call that needs it fails. */
const WARN_EVERY_MS = 10_000;

export interface LimiterTiming {
  readonly leaseMs: number;
  /** How long a Redis server must be available before this limiter declares an instance dead. */
  readonly graceMs: number;
  readonly reapEveryMs: number;
  readonly recoverEveryMs: number;
  readonly sweepEveryMs: number;
  readonly sweepMinAgeMs: number;
}

const TIMING: LimiterTiming = {
  leaseMs: 8_000,
  // Less than four reaper intervals, so that the fourth run finds it over.
  graceMs: 7_500,
  reapEveryMs: 2_000,
  recoverEveryMs: 10_000,
  sweepEveryMs: 10_000,
  sweepMinAgeMs: 30_000,
};

export interface LimiterOptions {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  readonly trust: Trust;
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly clockOffsetMs: number;
  /** Random if not given. */
  readonly id?: string | undefined;
  readonly db: Db;
  readonly logger: Logger;
  readonly metrics: Registry;
  /** Null or undefined: off. */
  readonly tracing?: Tracing | null;
  readonly timing?: Partial<LimiterTiming>;
  /** How many calls of one session may await replies. Beyond that, calls fail. Default 20,000. */
  readonly maxOpenCalls?: number;
}

export interface Limiter {
  readonly port: number;
  /** Whether Redis answers, and the first reads of Postgres have succeeded or failed. */
  ready(): boolean;
  /** Asks gateways to move to other limiters, and goes on serving. `close` gives them a moment. */
  drain(): void;
  /**
   * Ends sessions after their open calls, publishes waiting settlements, and closes connections.
   * Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Starts one limiter. It serves at once, but calls fail until Redis is available. Rejects if the
 * port is taken.
 */
export async function startLimiter(options: LimiterOptions): Promise<Limiter> {
  const { logger, db, redisUrl, redisPrefix } = options;
  const timing = { ...TIMING, ...options.timing };
  const limiterId = options.id ?? `lim_${randomBase62(8)}`;
  const metrics = createLimiterMetrics(options.metrics);
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  const postgresFailed = (err: LimiterError) => {
    if (performance.now() - warnedAtMs < WARN_EVERY_MS) return;
    warnedAtMs = performance.now();
    // Do not log the cause: the driver's message may contain a statement's parameters.
    logger.warn(
      { reason: err.message },
      'Postgres cannot be used: only requests that need no more than Redis are served',
    );
  };
  const onFailed = (error: unknown, call?: Call__Output) => {
    metrics.failed(error instanceof LimiterError ? error.reason : 'internal');
    if (!(error instanceof LimiterError))
      logger.error({ err: error, requestId: call && requestIdOf(call) }, 'a call failed');
    else if (error.reason === 'postgres') postgresFailed(error);
  };

  const link = createRedisLink(redisUrl, logger);
  const store = new Store({ shards: link.shards, onPipeline: metrics.pipelineTook });
  const names = new KeyNames(redisPrefix);
  const context: ScriptDeps = { store, names, clock: new LimiterClock(options.clockOffsetMs) };
  const seeder = new Seeder(context, db, (orgId) => {
    logger.warn({ orgId }, 'live state was lost');
    notices.publish({ orgStateLost: { orgId } }).catch(onFailed);
  });
  const leases = new Leases(context);
  const notices = new NoticeHub({ store, connect: link.connect, channel: names.notices });
  const outbox = startOutbox({ context, limiterId, redisUrl, redisPrefix, ...timing, metrics, logger });
  const lastUses = new LastUses(db);
  const onCounted = (keyId: string, atMs: number) => lastUses.note(keyId, atMs);
  const admissions = new Admissions({ ...context, seeder, leases, onSettled: outbox.publish, onCounted });
  const dispatch = countedDispatch(
    {
      ...context,
      admissions,
      leases,
      seeder,
      notices,
      refusals: new RefusalWriter(db),
      blockMs: LIMITS.invalidKeyBlockMs,
    },
    metrics,
    options.tracing ?? null,
  );
  const maxOpenCalls = options.maxOpenCalls ?? MAX_OPEN_CALLS;
  const sessions = new Sessions({ context, notices, dispatch, maxOpenCalls, onFailed });
  const locks = {
    reaper: new Lock(store, names.reaperLock, limiterId, REAPER_LOCK_MS),
    recovery: new Lock(store, names.recoveryLock, limiterId, timing.recoverEveryMs),
  };
  const onRan = (chore: keyof typeof locks) => () => locks[chore].held && metrics.ran(chore);
  const reaper = new Reaper({
    ...context,
    admissions,
    lock: locks.reaper,
    leaseMs: timing.leaseMs,
    graceMs: timing.graceMs,
    onReaped: metrics.reaped,
    onFailed: (instanceId, err) => logger.warn({ err, instanceId }, 'a dead instance could not be reaped'),
  });

  const recovery = new Recovery({
    ...context,
    db,
    seeder,
    notices,
    lock: locks.recovery,
  });

  const deletedOrgs = new DeletedOrgs({ ...context, db, notices });
  const olderCopies = new OlderCopies({ ...context, db, link, seeder, notices, deletedOrgs, logger });
  observeLimiter(options.metrics, {
    ...readState({ context, db, link }),
    sessions: () => sessions.count,
    openCalls: () => sessions.openCalls,
    maxOpenCalls,
    // What the chores found last would look current while Redis is away.
    recovering: () => (link.ready() ? recovery.recovering : null),
    oldestUnconfirmedS: () => (link.ready() ? outbox.oldestUnconfirmedS() : null),
    holds: (chore) => link.ready() && (chore === 'sweep' ? outbox.sweeps() : locks[chore].held),
  });

  link.onReady(() => void store.loadScripts().catch(onFailed));
  notices.listen((notice) => 'orgChanged' in notice && seeder.forgetMisses());
  warnOfDurability(link, logger);
  const comparing = startOlderCopies({ olderCopies, link, everyMs: timing.recoverEveryMs, logger });
  link.open();
  notices.start();
  let warm = false;
  void seeder.warm().then((failure) => {
    warm = true;
    if (failure) postgresFailed(failure);
  });
  const handlers = {
    Session: sessions.accept,
    ...unaryHandlers({ context, seeder, notices, deletedOrgs, onFailed }),
  };
  const { host, port, trust } = options;
  const server = await startServer({ host, port, trust, handlers, log: logger });
  const chores = { ...timing, context, link, logger };
  const reaping = startReaper({ ...chores, everyMs: timing.reapEveryMs, reaper, onRan: onRan('reaper') });
  const everyMs = timing.recoverEveryMs;
  const recovering = startRecovery({ ...chores, everyMs, recovery, onRan: onRan('recovery') });
  const forgetting = startForgetting({ everyMs: timing.recoverEveryMs, deletedOrgs, link, logger });
  const noting = startChore({ everyMs: timing.reapEveryMs, run: () => lastUses.write(), onError: onFailed });
  let closed: Promise<void> | undefined;
  const close = async () => {
    await Promise.all([reaping.stop(), recovering.stop(), forgetting.stop(), comparing.stop()]);
    await sessions.close();
    await noting.stop();
    await lastUses.write().catch(onFailed);
    await server.close();
    await outbox.close();
    notices.stop();
    link.close();
  };
  return {
    port: server.port,
    ready: () => warm && link.ready(),
    drain: () => sessions.drain(),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}
