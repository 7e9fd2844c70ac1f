import type { Settlement } from '@tidegate/contracts';
import { createOutage, type Logger, startChore } from '@tidegate/runtime';
import type { LimiterMetrics } from '../metrics.ts';
import { Lock } from '../redis/lock.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { CatchUp } from './catch-up.ts';
import { SettlementPublisher } from './publisher.ts';
import { createSettlementQueue } from './queue.ts';
import { OutboxSweep } from './sweep.ts';

const PUBLISH = { maxWaiting: 10_000, maxSending: 8 } as const;
const SWEEP = { maxJobs: 100, maxBacklog: 500 } as const;
/**
 * With more unfinished jobs than this, metering has been behind for minutes, for example because
 * Postgres is unavailable. Further settlements then wait in the outbox alone. Queued too, they
 * would fill Redis twice as fast, and a full Redis refuses every request.
 */
const MAX_BACKLOG = 1_000;
const WARN_EVERY_MS = 10_000;

export interface OutboxOptions {
  readonly scriptDeps: ScriptDeps;
  readonly limiterId: string;
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly answerTimeoutMs: number;
  readonly sweepEveryMs: number;
  readonly sweepMinAgeMs: number;
  readonly metrics: LimiterMetrics;
  readonly logger: Logger;
}

export interface Outbox {
  /** @param traceparent empty or undefined: it is not traced */
  publish(settlement: Settlement, traceparent?: string): void;
  /** See `LimiterReadings`. */
  oldestUnconfirmedS(): number | null;
  sweeps(): boolean;
  /** Publishes what is still waiting. */
  close(): Promise<void>;
}

/**
 * Brings settlements from the outbox to metering. The queue takes them immediately, and the sweep
 * brings those that got lost on the way.
 */
export function startOutbox(options: OutboxOptions): Outbox {
  const { scriptDeps, limiterId, redisUrl, redisPrefix, sweepEveryMs, metrics, logger } = options;
  const queue = createSettlementQueue({
    redisUrl,
    redisPrefix,
    answerTimeoutMs: options.answerTimeoutMs,
    onError: (err) => logger.debug({ err }, 'settlement queue'),
  });
  const publisher = new SettlementPublisher({
    ...PUBLISH,
    nowMs: () => performance.now(),
    async send(batch, traces) {
      if ((await queue.backlog()) > MAX_BACKLOG) throw new Error('metering is too far behind');
      await queue.add(batch, { traces });
    },
    onDropped: reporter(options),
  });
  const lock = new Lock(scriptDeps.store, scriptDeps.names.sweepLock, limiterId, sweepEveryMs * 2);
  let oldestS: number | null = null;
  const sweep = new OutboxSweep({
    ...scriptDeps,
    ...SWEEP,
    queue,
    lock,
    onSwept: (seconds) => {
      oldestS = seconds;
    },
    minAgeMs: options.sweepMinAgeMs,
    onRepublished: metrics.republished,
  });
  const catchUp = new CatchUp({
    sweep: () => sweep.run(),
    backlog: () => queue.backlog(),
    maxJobs: SWEEP.maxJobs,
    everyMs: sweepEveryMs,
    nowMs: () => performance.now(),
  });
  const outage = createOutage(logger, 'the outbox sweep failed');
  const chore = startChore({
    everyMs: sweepEveryMs,
    nextMs: () => catchUp.nextMs,
    run: () => catchUp.run(),
    onRan() {
      outage.worked();
      if (lock.held) metrics.ran('sweep');
    },
    onError: (err) => outage.failed(err),
  });
  return {
    publish: (settlement, traceparent) => publisher.publish(settlement, traceparent),
    sweeps: () => lock.held,
    oldestUnconfirmedS: () => (lock.held ? oldestS : null),
    async close() {
      await chore.stop();
      await publisher.close();
      await queue.close();
    },
  };
}

/**
 * Counts the settlements that the queue did not take. Logs at most every 10 s how many there were.
 */
function reporter({ metrics, logger }: OutboxOptions): (settlements: number, error: unknown) => void {
  let sinceMs = Number.NEGATIVE_INFINITY;
  let settlements = 0;
  return (count, err) => {
    const nowMs = performance.now();
    metrics.unpublished(count);
    // A count that is left from long ago belongs to an earlier outage.
    settlements = nowMs - sinceMs < 2 * WARN_EVERY_MS ? settlements + count : count;
    if (nowMs - sinceMs < WARN_EVERY_MS) return;
    logger.warn(
      { err: err ?? undefined, settlements },
      'settlements were not queued: the sweep will publish them',
    );
    sinceMs = nowMs;
    settlements = 0;
  };
}
