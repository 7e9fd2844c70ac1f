import {
  SETTLEMENT_JOB,
  SETTLEMENT_JOB_OPTIONS,
  SETTLEMENT_QUEUE,
  type Settlement,
  type SettlementBatch,
  settlementQueuePrefix,
} from '@tidegate/contracts';
import { createRedisClient } from '@tidegate/redis';
import { Queue } from 'bullmq';
import { ANSWER_TIMEOUT_MS, reconnectDelayMs } from '../redis/connection.ts';

/** The queue of settlements, as the limiter uses it. Rejects when Redis does not take a job. */
export interface SettlementQueue {
  /** @param jobId a job of this id that is still there, dead ones included, is not queued twice */
  add(settlements: readonly Settlement[], jobId?: string): Promise<void>;
  /** Jobs not done yet, dead ones left out. */
  backlog(): Promise<number>;
  close(): Promise<void>;
}

export function createSettlementQueue(options: {
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly onError: (error: Error) => void;
}): SettlementQueue {
  const connection = createRedisClient(options.redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: ANSWER_TIMEOUT_MS,
    retryStrategy: reconnectDelayMs,
  });
  const queue = new Queue<SettlementBatch>(SETTLEMENT_QUEUE, {
    prefix: settlementQueuePrefix(options.redisPrefix),
    connection,
    skipMetasUpdate: true,
  });
  queue.on('error', options.onError);
  return {
    async add(settlements, jobId) {
      await queue.add(
        SETTLEMENT_JOB,
        { settlements },
        { ...SETTLEMENT_JOB_OPTIONS, ...(jobId === undefined ? {} : { jobId }) },
      );
    },
    async backlog() {
      const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized');
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    async close() {
      await queue.close();
      connection.disconnect();
    },
  };
}
