import { ActiveRunner, type ActiveRunnerOptions } from './active-runner.ts';
import { pause } from './drivers/pause.ts';
import { LEAD_TIMINGS, type Lead, takeLead } from './lead/lead.ts';
import { createRunnerMetrics, observeRunner } from './metrics.ts';

export interface RunnerOptions extends ActiveRunnerOptions {
  /** For the lead's own connection. */
  readonly databaseUrl: string;
  readonly stopModelsOnExit: boolean;
}

export interface Runner {
  /** Whether it is the active runner and answers calls. */
  ready(): boolean;
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
 * Waits, and becomes active when no other runner is. If it loses the lead, it leaves its models as
 * they are and waits again.
 */
export function startRunner(options: RunnerOptions): Runner {
  const { databaseUrl: url, logger, stopModelsOnExit } = options;
  const ending = new AbortController();
  const metrics = createRunnerMetrics(options.metrics);
  let activeRunner: ActiveRunner | null = null;
  let active = new Deferred<number>();
  let wasActive = false;
  observeRunner(options.metrics, () => ({
    conditions: () => activeRunner?.fleet.conditions() ?? [],
    gateways: activeRunner?.gateways.connected ?? 0,
    active: activeRunner !== null,
  }));

  /** Stays active until the lead is lost or the runner ends. Rejects when it cannot start. */
  const runWhileLeading = async (lead: Lead): Promise<void> => {
    const stopped = aborted(AbortSignal.any([lead.lost, ending.signal]));
    const candidate = new ActiveRunner(options, metrics, lead);
    try {
      const port = await Promise.race([candidate.start(), stopped]);
      if (port === undefined) return;
      activeRunner = candidate;
      wasActive = true;
      active.resolve(port);
      logger.info({ port }, 'this runner is active');
      await stopped;
    } finally {
      if (activeRunner) active = new Deferred();
      activeRunner = null;
      if (ending.signal.aborted && !lead.lost.aborted) await candidate.close(stopModelsOnExit);
      else candidate.abandon();
    }
  };

  const runUntilClosed = async (): Promise<void> => {
    for (;;) {
      const lead = await takeLead({ url, timings: LEAD_TIMINGS, logger }, ending.signal);
      if (!lead) throw new Error('closed before it was active');
      try {
        await runWhileLeading(lead);
      } catch (err) {
        if (!wasActive) throw err;
        logger.error({ err }, 'cannot become active: trying again');
      } finally {
        await lead.release();
      }
      if (lead.lost.aborted) logger.error('the lead is lost: standing by');
      await pause(RETRY_MS, ending.signal);
    }
  };
  const ended = runUntilClosed().catch((err) => active.reject(err));
  return {
    get active() {
      return active.promise;
    },
    ready: () => activeRunner !== null,
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
