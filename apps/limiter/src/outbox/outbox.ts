import type { Settlement } from '@tidegate/contracts';
import { createOutage, type Logger, startChore } from '@tidegate/runtime';
import type { LimiterMetrics } from '../metrics.ts';
import { Lock } from '../redis/lock.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { SettlementPublisher } from './publisher.ts';
import { createSettlementQueue } from './queue.ts';
import { OutboxSweep } from './sweep.ts';

const PUBLISH = { maxWaiting: 10_000, maxSending: 8 } as const;
const SWEEP = { maxJobs: 100, maxBacklog: 500 } as const;

export interface OutboxOptions {
  readonly context: ScriptDeps;
  readonly limiterId: string;
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly sweepEveryMs: number;
  readonly sweepMinAgeMs: number;
  readonly metrics: LimiterMetrics;
  readonly logger: Logger;
}

export interface Outbox {
  /** @param traceparent empty or undefined: it is not traced */
  publish(settlement: Settlement, traceparent?: string): void;
  /** See `LimiterState`. */
  oldestUnconfirmedS(): number | null;
  sweeps(): boolean;
  /** Publishes what is still waiting. */
  close(): Promise<void>;
}

/**
 * Brings settlements from the outbox to metering. The queue takes them at once, and the sweep
 * brings those that got lost on the way.
 */
export function startOutbox(options: OutboxOptions): Outbox {
  const { context, limiterId, redisUrl, redisPrefix, sweepEveryMs, metrics, logger } = options;
  const queue = createSettlementQueue({
    redisUrl,
    redisPrefix,
    onError: (err) => logger.debug({ err }, 'settlement queue'),
  });
  const publisher = new SettlementPublisher({
    ...PUBLISH,
    nowMs: () => performance.now(),
    send: (batch, traces) => queue.add(batch, { traces }),
    onDropped(settlements, err) {
      metrics.unpublished(settlements);
      logger.warn({ err: err ?? undefined, settlements }, 'settlements are left to the sweep');
    },
  });
  const lock = new Lock(context.store, context.names.sweepLock, limiterId, sweepEveryMs * 2);
  let oldestS: number | null = null;
  const sweep = new OutboxSweep({
    ...context,
    ...SWEEP,
    queue,
    lock,
    onSwept: (seconds) => {
      oldestS = seconds;
    },
    minAgeMs: options.sweepMinAgeMs,
    onRepublished: metrics.republished,
  });
  const outage = createOutage(logger, 'the outbox sweep failed');
  const chore = startChore({
    everyMs: sweepEveryMs,
    run: () => sweep.run(),
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
