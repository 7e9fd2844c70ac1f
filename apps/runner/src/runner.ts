import { Acting, type ActingOptions } from './acting.ts';
import { pause } from './drivers/pause.ts';
import { LEAD_TIMINGS, type Lead, takeLead } from './lead/lead.ts';
import { createRunnerMetrics, observeRunner } from './metrics.ts';

export interface RunnerOptions extends ActingOptions {
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
const AGAIN_MS = 1_000;

/**
 * Waits, and acts when no other runner does. If it loses the lead, it leaves its models as they are
 * and waits again.
 */
export function startRunner(options: RunnerOptions): Runner {
  const { databaseUrl: url, logger, stopModelsOnExit } = options;
  const ending = new AbortController();
  const metrics = createRunnerMetrics(options.metrics);
  let acting: Acting | null = null;
  let active = new Deferred<number>();
  let wasActive = false;
  observeRunner(options.metrics, () => ({
    conditions: () => acting?.fleet.conditions() ?? [],
    gateways: acting?.gateways.connected ?? 0,
    active: acting !== null,
  }));

  /** Acts until the lead is lost or the runner ends. Rejects when it cannot start. */
  const act = async (lead: Lead): Promise<void> => {
    const over = aborted(AbortSignal.any([lead.lost, ending.signal]));
    const turn = new Acting(options, metrics, lead);
    try {
      const port = await Promise.race([turn.begin(), over]);
      if (port === undefined) return;
      acting = turn;
      wasActive = true;
      active.resolve(port);
      logger.info({ port }, 'this runner is active');
      await over;
    } finally {
      if (acting) active = new Deferred();
      acting = null;
      if (ending.signal.aborted && !lead.lost.aborted) await turn.close(stopModelsOnExit);
      else turn.abandon();
    }
  };

  const live = async (): Promise<void> => {
    for (;;) {
      const lead = await takeLead({ url, timings: LEAD_TIMINGS, logger }, ending.signal);
      if (!lead) throw new Error('closed before it was active');
      try {
        await act(lead);
      } catch (err) {
        if (!wasActive) throw err;
        logger.error({ err }, 'cannot become active: trying again');
      } finally {
        await lead.release();
      }
      if (lead.lost.aborted) logger.error('the lead is lost: standing by');
      await pause(AGAIN_MS, ending.signal);
    }
  };
  const ended = live().catch((err) => active.reject(err));
  return {
    get active() {
      return active.promise;
    },
    ready: () => acting !== null,
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
