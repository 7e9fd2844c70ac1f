import { randomBase62 } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import type { Logger, Registry, Trust } from '@tidegate/runtime';
import type { Tracing } from '@tidegate/tracing';
import { Admissions } from './admission/admissions.ts';
import { type Chores, startChores } from './chores.ts';
import { Failures } from './failures.ts';
import { LastUses } from './keys/last-uses.ts';
import { createLiveState, type LiveStateParts, openLiveState } from './live-state.ts';
import { createLimiterMetrics, type LimiterMetrics } from './metrics.ts';
import { type Outbox, startOutbox } from './outbox/outbox.ts';
import { storeReadings } from './read-state.ts';
import { RefusalWriter } from './refusals/writer.ts';
import { type GrpcServer, startServer } from './server.ts';
import { countedDispatch } from './session/counted.ts';
import { Sessions } from './session/sessions.ts';
import { observeLimiter } from './state-metrics.ts';
import { type LimiterTiming, TIMING } from './timing.ts';
import { unaryHandlers } from './unary.ts';

const MAX_OPEN_CALLS = 20_000;

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
  /** Why it is not ready. See `OpenLiveState`. */
  problem(): string | null;
  /** Asks gateways to move to other limiters, and keeps serving. `close` gives them a moment. */
  drain(): void;
  /**
   * Ends sessions after their open calls, publishes waiting settlements, and closes connections.
   * Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Starts one limiter. It serves immediately, but calls fail until Redis is available. Rejects if
 * the port is taken, and then leaves nothing running.
 */
export async function startLimiter(options: LimiterOptions): Promise<Limiter> {
  const { host, port, trust, db, logger } = options;
  const timing = { ...TIMING, ...options.timing };
  const limiterId = options.id ?? `lim_${randomBase62(8)}`;
  const metrics = createLimiterMetrics(options.metrics);
  const failures = new Failures(logger, metrics);
  const live = createLiveState({ ...options, timing, metrics, failures });
  const { scriptDeps, seeder } = live;

  const outbox = startOutbox({ ...options, ...timing, scriptDeps, limiterId, metrics });
  const lastUses = new LastUses(db);
  const onCounted = (keyId: string, atMs: number) => lastUses.note(keyId, atMs);
  const admissions = new Admissions({ ...scriptDeps, seeder, onSettled: outbox.publish, onCounted });
  const sessions = createSessions({ options, timing, live, admissions, metrics, failures });
  const open = openLiveState(live, failures, logger);
  const chores = startChores({ live, limiterId, admissions, lastUses, timing, metrics, failures, logger });
  observe({ options, live, sessions, chores, outbox });
  const handlers = { Session: sessions.accept, ...unaryHandlers({ ...live, onFailed: failures.report }) };

  let server: GrpcServer | undefined;
  let closed: Promise<void> | undefined;
  const close = async () => {
    await chores.stop();
    await sessions.close();
    await lastUses.write().catch(failures.report);
    await server?.close();
    await outbox.close();
    open.close();
  };
  try {
    server = await startServer({ host, port, trust, handlers, log: logger });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    port: server.port,
    problem: open.problem,
    drain: () => sessions.drain(),
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

const maxOpenCallsOf = (options: LimiterOptions): number => options.maxOpenCalls ?? MAX_OPEN_CALLS;

function createSessions(parts: {
  readonly options: LimiterOptions;
  readonly timing: LimiterTiming;
  readonly live: LiveStateParts;
  readonly admissions: Admissions;
  readonly metrics: LimiterMetrics;
  readonly failures: Failures;
}): Sessions {
  const { options, timing, live, admissions, metrics, failures } = parts;
  const { scriptDeps, seeder, notices } = live;
  const dispatchDeps = {
    ...scriptDeps,
    admissions,
    seeder,
    notices,
    refusals: new RefusalWriter(options.db),
  };
  return new Sessions({
    scriptDeps,
    notices,
    dispatch: countedDispatch(dispatchDeps, metrics, options.tracing ?? null),
    maxOpenCalls: maxOpenCallsOf(options),
    gatewaysMoveMs: timing.gatewaysMoveMs,
    onFailed: failures.report,
  });
}

function observe(parts: {
  readonly options: LimiterOptions;
  readonly live: LiveStateParts;
  readonly sessions: Sessions;
  readonly chores: Chores;
  readonly outbox: Outbox;
}): void {
  const { options, live, sessions, chores, outbox } = parts;
  const { link } = live;
  observeLimiter(options.metrics, {
    ...storeReadings(live),
    sessions: () => sessions.count,
    openCalls: () => sessions.openCalls,
    maxOpenCalls: maxOpenCallsOf(options),
    // What the chores found last would look current while Redis is unavailable.
    recovering: () => (link.ready() ? chores.recovering() : null),
    oldestUnconfirmedS: () => (link.ready() ? outbox.oldestUnconfirmedS() : null),
    holds: (chore) => link.ready() && (chore === 'sweep' ? outbox.sweeps() : chores.holds(chore)),
  });
}
