import {
  SETTLEMENT_JOB,
  SETTLEMENT_JOB_OPTIONS,
  SETTLEMENT_QUEUE,
  settlementQueuePrefix,
} from '@tidegate/contracts';
import { createRedisClient } from '@tidegate/redis';
import { Queue } from 'bullmq';

export interface SettlementQueue {
  setApart(settlements: readonly unknown[], jobId: string): Promise<void>;
  /** Jobs by state. */
  counts(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

/** The queue as metering itself adds to it and counts it. */
export function openQueue(options: {
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly onError: (error: Error) => void;
}): SettlementQueue {
  const connection = createRedisClient(options.redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (tries: number) => Math.min(100 * tries, 1_000),
  });
  const queue = new Queue(SETTLEMENT_QUEUE, {
    prefix: settlementQueuePrefix(options.redisPrefix),
    connection,
    skipMetasUpdate: true,
  });
  queue.on('error', options.onError);
  return {
    async setApart(settlements, jobId) {
      await queue.add(SETTLEMENT_JOB, { settlements }, { ...SETTLEMENT_JOB_OPTIONS, jobId });
    },
    counts: () => queue.getJobCounts('waiting', 'active', 'delayed', 'failed'),
    async close() {
      await queue.close();
      connection.disconnect();
    },
  };
}
