import type { Db } from '@tidegate/db';
import { callFailure } from '@tidegate/rpc';
import type { Logger } from '@tidegate/runtime';
import type { Tracing } from '@tidegate/tracing';
import { DayPartitions } from './days/partitions.ts';
import type { MeteringMetrics } from './metrics.ts';
import { type BatchJob, processJob } from './queue/process.ts';
import type { SettlementJobs } from './queue/settlement-jobs.ts';
import { Confirmer } from './settlements/confirm.ts';
import type { Limiters } from './settlements/limiters.ts';
import { traceJob } from './settlements/traces.ts';
import { writeSettlements } from './settlements/write.ts';
import { SettlementWriter } from './settlements/writer.ts';

const MAX_ROWS = 2_000;

export interface MeteringDeps {
  readonly db: Db;
  readonly limiters: Limiters;
  readonly queue: Pick<SettlementJobs, 'queueSeparately'>;
  readonly metrics: MeteringMetrics;
  readonly logger: Logger;
  /** Null: off. */
  readonly tracing: Tracing | null;
  /** This machine's clock in Unix milliseconds. It may be wrong. */
  readonly nowMs: () => number;
  /** Redis' clock in Unix milliseconds. */
  readonly redisNowMs: () => Promise<number>;
}

export interface Metering {
  /** Processes one job of the queue. See `processJob`. */
  process(job: BatchJob): Promise<void>;
  readonly partitions: DayPartitions;
  /** Resolves when every pending confirmation is sent or dropped. */
  drain(): Promise<void>;
}

/**
 * Everything that happens to settlements after the queue: they are written in groups, counted and
 * confirmed.
 */
export function createMetering(deps: MeteringDeps): Metering {
  const { db, limiters, queue, metrics, logger, tracing, nowMs, redisNowMs } = deps;
  const partitions = new DayPartitions({ db, logger, nowMs, redisNowMs });
  const confirmer = new Confirmer({
    confirm: limiters.confirm,
    onDropped: (count, err) => {
      metrics.unconfirmed.inc(count);
      logger.warn(
        { reason: callFailure(err), count },
        'commits could not be confirmed: the limiter will publish their settlements again',
      );
    },
  });
  const writer = createWriter(deps, partitions);
  return {
    process: (job) =>
      traceJob({ tracing, nowMs }, job, () =>
        processJob(
          {
            write: (settlements) => writer.write(settlements),
            confirm: (settlements) => confirmer.add(settlements),
            queueSeparately: queue.queueSeparately,
            redisNowMs,
          },
          job,
        ),
      ),
    partitions,
    drain: () => confirmer.drain(),
  };
}

function createWriter({ db, metrics, nowMs }: MeteringDeps, partitions: DayPartitions): SettlementWriter {
  return new SettlementWriter({
    maxRows: MAX_ROWS,
    monotonicMs: () => performance.now(),
    commit: async (settlements) => {
      try {
        await partitions.ensureFor(settlements);
        return await writeSettlements(db, settlements);
      } catch (error) {
        partitions.forget();
        throw error;
      }
    },
    onCommit: (settlements, fresh, durationMs) => {
      metrics.batchRows.observe(settlements.length);
      metrics.writeSeconds.observe(durationMs / 1_000);
      metrics.settlements.inc({ result: 'new' }, fresh);
      metrics.settlements.inc({ result: 'duplicate' }, settlements.length - fresh);
      const atMs = nowMs();
      for (const s of settlements) {
        metrics.lagSeconds.observe(Math.max(0, atMs - s.reservedAtMs - (s.durationMs ?? 0)) / 1_000);
      }
    },
  });
}
