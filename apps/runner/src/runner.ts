import type { Db } from '@tidegate/db';
import { observeStore } from '@tidegate/runtime';
import { client as kubernetesClient } from './drivers/kubernetes/connection.ts';
import { type Lead, type LeadTimings, takeLead } from './lead/lead.ts';
import { LeadingRunner, type LeadingRunnerOptions } from './leading-runner.ts';
import { createRunnerMetrics, observeRunner, type RunnerMetrics } from './metrics.ts';
import { pause } from './pause.ts';

export interface RunnerOptions extends LeadingRunnerOptions {
  readonly leadTimings: LeadTimings;
  /** See `createLeaseDb`. */
  readonly leaseDb: Db;
  readonly stopModelsOnExit: boolean;
}

export interface Runner {
  /**
   * Why it is not ready. Null: it leads its pool and answers calls, or stands by and knows who
   * leads. It has to ask Postgres for that, and without Postgres it could not take over either.
   */
  problem(): string | null;
  /** Whether it leads its pool and answers calls. */
  leads(): boolean;
  /**
   * Resolves to the port when this runner leads, now or later. Rejects when its first attempt to
   * act fails, or when it is closed before that.
   */
  readonly leading: Promise<number>;
  close(): Promise<void>;
}

/** The pause after losing the lead: longer than other runners need to take it. */
const RETRY_MS = 1_000;

/**
 * Waits, and leads when no other runner of its pool does. If it loses the lead, it leaves its
 * models as they are and waits again.
 */
export function startRunner(options: RunnerOptions): Runner {
  const runner = new CandidateRunner(options);
  runner.start();
  return runner;
}

class CandidateRunner implements Runner {
  readonly #options: RunnerOptions;
  readonly #metrics: RunnerMetrics;
  readonly #ending = new AbortController();
  #ended: Promise<void> = Promise.resolve();
  #acting: LeadingRunner | null = null;
  /** The runner that leads while this one stands by, and when that was last seen. */
  #leader: { readonly holder: string; readonly seenMs: number } | null = null;
  /** It leads, but does not answer calls yet. */
  #isTakingOver = false;
  #leading = new Deferred<number>();
  #hasLed = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#metrics = createRunnerMetrics(options.metrics);
  }

  get leading(): Promise<number> {
    return this.#leading.promise;
  }

  /** Once a lease that was seen may have expired, another runner may hold it. */
  get #knowsLeader(): boolean {
    const { leaseMs } = this.#options.leadTimings;
    return this.#leader !== null && performance.now() - this.#leader.seenMs < leaseMs;
  }

  problem(): string | null {
    if (this.leads() || this.#knowsLeader) return null;
    return this.#isTakingOver
      ? "it is taking over its pool's models"
      : 'it does not know which runner leads its pool: Postgres is unavailable, or has not been asked yet';
  }

  leads(): boolean {
    return this.#acting !== null;
  }

  start(): void {
    this.#observe();
    this.#ended = this.#runUntilClosed().catch((err) => this.#leading.reject(err));
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#ended;
  }

  #observe(): void {
    const { metrics, db, candidate } = this.#options;
    observeRunner(metrics, () => ({
      conditions: () => this.#acting?.fleet.conditions() ?? [],
      models: () => this.#acting?.observed() ?? [],
      room: () => this.#acting?.fleet.room() ?? null,
      gateways: this.#acting?.gateways.connected ?? 0,
      leads: this.leads(),
      pool: candidate.pool,
    }));
    observeStore(metrics, 'postgres', () => db.$queryRaw`SELECT 1`);
  }

  /** Rejects when it is closed, or when it cannot act the first time. */
  async #runUntilClosed(): Promise<void> {
    const { leaseDb: db, candidate, leadTimings: timings, logger, kubernetes } = this.#options;
    // Loading it takes a second, in which no runner would lead.
    if (kubernetes) await kubernetesClient();
    const onStandby = (holder: string) => this.#standBy(holder);
    for (;;) {
      const lead = await takeLead({ db, candidate, timings, logger, onStandby }, this.#ending.signal);
      this.#leader = null;
      if (!lead) throw new Error('closed before it led');
      try {
        await this.#act(lead);
      } catch (err) {
        if (!this.#hasLed) throw err;
        logger.error({ err }, 'cannot take the lead of its pool: trying again');
      } finally {
        await lead.release();
      }
      await pause(RETRY_MS, this.#ending.signal);
    }
  }

  #standBy(holder: string): void {
    const { logger, candidate } = this.#options;
    if (this.#leader?.holder !== holder)
      logger.info({ pool: candidate.pool, leader: holder }, 'another runner leads this pool: standing by');
    this.#leader = { holder, seenMs: performance.now() };
  }

  /** Acts until the lead is lost or the runner ends. Rejects when it cannot start. */
  async #act(lead: Lead): Promise<void> {
    const { logger, candidate, stopModelsOnExit } = this.#options;
    const stopped = aborted(AbortSignal.any([lead.lost, this.#ending.signal]));
    const acting = new LeadingRunner(this.#options, this.#metrics, lead);
    this.#isTakingOver = true;
    try {
      const port = await Promise.race([acting.start(), stopped]);
      if (port === undefined) return;
      this.#acting = acting;
      this.#isTakingOver = false;
      this.#hasLed = true;
      this.#leading.resolve(port);
      logger.info({ pool: candidate.pool, port }, 'this runner leads its pool');
      await stopped;
    } finally {
      this.#isTakingOver = false;
      if (this.#acting) this.#leading = new Deferred();
      this.#acting = null;
      if (this.#ending.signal.aborted && !lead.lost.aborted) await acting.close(stopModelsOnExit);
      else acting.abandon();
    }
  }
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
