import { Acting, type ActingOptions } from './acting.ts';
import { pause } from './drivers/pause.ts';
import { LEAD_TIMINGS, type Lead, takeLead } from './lead/lead.ts';
import { createRunnerMetrics, observeRunner } from './metrics.ts';

export interface RunnerOptions extends ActingOptions {
  /** For the connection of its own that holds the lead. */
  readonly databaseUrl: string;
  readonly stopModelsOnExit: boolean;
}

export interface Runner {
  /** Whether it is the active one and answers calls. */
  ready(): boolean;
  /**
   * Resolves with its port while it is the active one, else once it is (again). Rejects when it cannot act the first time that it
   * may, and when it is closed before.
   */
  readonly active: Promise<number>;
  close(): Promise<void>;
}

/** Between a lead that ended and the next try: longer than others that stand by take. */
const AGAIN_MS = 1_000;

/** Stands by, and acts once no other runner does. When it loses the lead it leaves its models as they are and stands by again. */
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

  /** Acts until the lead is lost or the runner ends. Rejects when it cannot begin. */
  const act = async (lead: Lead): Promise<void> => {
    const over = aborted(AbortSignal.any([lead.lost, ending.signal]));
    const turn = new Acting(options, metrics, lead);
    try {
      const port = await Promise.race([turn.begin(), over]);
      if (port === undefined) return;
      acting = turn;
      wasActive = true;
      active.resolve(port);
      logger.info({ port }, 'active');
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
        logger.error({ err }, 'cannot act, trying again');
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
