import { observeStore } from '@tidegate/runtime';
import { ActiveRunner, type ActiveRunnerOptions } from './active-runner.ts';
import { pause } from './drivers/pause.ts';
import { type Lead, type LeadTimings, takeLead } from './lead/lead.ts';
import { createRunnerMetrics, observeRunner } from './metrics.ts';

export interface RunnerOptions extends ActiveRunnerOptions {
  readonly leadTimings: LeadTimings;
  readonly stopModelsOnExit: boolean;
}

export interface Runner {
  /** Whether it leads its pool and answers calls, or stands by while another runner leads. */
  ready(): boolean;
  /** Whether it is the active runner and answers calls. */
  leads(): boolean;
  /**
   * Resolves to the port when this runner is active, now or later. Rejects when its first attempt
   * to act fails, or when it is closed before.
   */
  readonly active: Promise<number>;
  close(): Promise<void>;
}

/** The pause after losing the lead: longer than other runners need to take it. */
const RETRY_MS = 1_000;

/**
 * Waits, and becomes active when no other runner of its pool is. If it loses the lead, it leaves
 * its models as they are and waits again.
 */
export function startRunner(options: RunnerOptions): Runner {
  const { db, candidate, leadTimings: timings, logger, stopModelsOnExit } = options;
  const { pool } = candidate;
  const ending = new AbortController();
  const metrics = createRunnerMetrics(options.metrics);
  let activeRunner: ActiveRunner | null = null;
  /** The runner that leads while this one stands by. */
  let leader: string | null = null;
  let active = new Deferred<number>();
  let wasActive = false;
  observeRunner(options.metrics, () => ({
    conditions: () => activeRunner?.fleet.conditions() ?? [],
    models: () => activeRunner?.observed() ?? [],
    room: () => activeRunner?.fleet.room() ?? null,
    gateways: activeRunner?.gateways.connected ?? 0,
    active: activeRunner !== null,
    pool,
  }));
  observeStore(options.metrics, 'postgres', () => db.$queryRaw`SELECT 1`);

  const onStandby = (holder: string) => {
    if (leader !== holder) logger.info({ pool, leader: holder }, 'another runner is active: standing by');
    leader = holder;
  };

  /** Stays active until the lead is lost or the runner ends. Rejects when it cannot start. */
  const runWhileLeading = async (lead: Lead): Promise<void> => {
    const stopped = aborted(AbortSignal.any([lead.lost, ending.signal]));
    const leading = new ActiveRunner(options, metrics, lead);
    try {
      const port = await Promise.race([leading.start(), stopped]);
      if (port === undefined) return;
      activeRunner = leading;
      wasActive = true;
      active.resolve(port);
      logger.info({ pool, port }, 'this runner is active');
      await stopped;
    } finally {
      if (activeRunner) active = new Deferred();
      activeRunner = null;
      if (ending.signal.aborted && !lead.lost.aborted) await leading.close(stopModelsOnExit);
      else leading.abandon();
    }
  };

  const runUntilClosed = async (): Promise<void> => {
    for (;;) {
      const lead = await takeLead({ db, candidate, timings, logger, onStandby }, ending.signal);
      leader = null;
      if (!lead) throw new Error('closed before it was active');
      try {
        await runWhileLeading(lead);
      } catch (err) {
        if (!wasActive) throw err;
        logger.error({ err }, 'cannot become active: trying again');
      } finally {
        await lead.release();
      }
      await pause(RETRY_MS, ending.signal);
    }
  };
  const ended = runUntilClosed().catch((err) => active.reject(err));
  return {
    get active() {
      return active.promise;
    },
    ready: () => activeRunner !== null || leader !== null,
    leads: () => activeRunner !== null,
    close: async () => {
      ending.abort();
      await ended;
    },
  };
}

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });

class Deferred<T> {
  resolve: (value: T) => void = () => {};
  reject: (reason: unknown) => void = () => {};
  /** Its rejection need not be handled. */
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });

  constructor() {
    this.promise.catch(() => {});
  }
}
