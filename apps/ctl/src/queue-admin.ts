import { SETTLEMENT_QUEUE, type SettlementBatch, settlementQueuePrefix } from '@tidegate/contracts';
import { type Job, Queue } from 'bullmq';
import { withRedis } from './redis.ts';

export interface QueueStatus {
  readonly waiting: number;
  readonly active: number;
  /** Jobs that have failed and wait for the next attempt. */
  readonly delayed: number;
  readonly dead: number;
}

/** A job that failed for good. It contains only counts and ids. */
export interface DeadLetter {
  readonly id: string;
  /** ISO 8601. */
  readonly failedAt: string | null;
  readonly attempts: number;
  readonly reason: string;
  /** The number of settlements in it. */
  readonly settlements: number;
  readonly reservationIds: readonly string[];
}

export interface QueueAdmin {
  status(): Promise<QueueStatus>;
  /** Lists dead letters, newest first. */
  dead(limit: number): Promise<DeadLetter[]>;
  /** The id of this dead letter, if it is one. Without an id, those of all dead letters. */
  deadIds(id?: string): Promise<string[]>;
  /**
   * Queues dead letters again, with all their attempts.
   * @returns how many were queued
   */
  replay(ids: readonly string[]): Promise<number>;
}

/**
 * Opens the queue, calls `use`, and closes it. If Redis cannot be reached, the first command fails.
 */
export const withQueueAdmin = <T>(
  redisUrl: string,
  redisPrefix: string,
  use: (queue: QueueAdmin) => Promise<T>,
): Promise<T> =>
  withRedis(redisUrl, async (connection) => {
    const queue = new Queue<SettlementBatch>(SETTLEMENT_QUEUE, {
      prefix: settlementQueuePrefix(redisPrefix),
      connection,
      skipMetasUpdate: true,
    });
    queue.on('error', () => undefined);
    try {
      return await use(adminOf(queue));
    } finally {
      await queue.close();
    }
  });

function adminOf(queue: Queue<SettlementBatch>): QueueAdmin {
  return {
    async status() {
      const {
        waiting = 0,
        active = 0,
        delayed = 0,
        failed = 0,
      } = await queue.getJobCounts(...(['waiting', 'active', 'delayed', 'failed'] as const));
      return { waiting, active, delayed, dead: failed };
    },
    dead: async (limit) => (await queue.getFailed(0, limit - 1)).filter(Boolean).map(deadLetter),
    async deadIds(id) {
      if (id === undefined) return queue.getRanges(['failed'], 0, -1);
      return (await queue.getJobState(id)) === 'failed' ? [id] : [];
    },
    async replay(ids) {
      let replayed = 0;
      for (const jobId of ids) replayed += (await retry(await queue.getJob(jobId))) ? 1 : 0;
      return replayed;
    },
  };
}

/** False: the job is not, or no longer, a dead letter. */
async function retry(job: Job | undefined): Promise<boolean> {
  if (!job || (await job.getState()) !== 'failed') return false;
  try {
    await job.retry('failed', { resetAttemptsMade: true });
    return true;
  } catch (error) {
    // Someone else may have replayed it meanwhile.
    if ((await job.getState()) === 'failed') throw error;
    return false;
  }
}

function deadLetter(job: Job<SettlementBatch>): DeadLetter {
  const settlements = Array.isArray(job.data?.settlements) ? job.data.settlements : [];
  return {
    id: job.id ?? '',
    failedAt: job.finishedOn === undefined ? null : new Date(job.finishedOn).toISOString(),
    attempts: job.attemptsMade,
    reason: job.failedReason ?? '',
    settlements: settlements.length,
    reservationIds: settlements.map((settlement) => String(settlement?.reservationId)),
  };
}
