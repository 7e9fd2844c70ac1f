import {
  SETTLEMENT_JOB,
  SETTLEMENT_JOB_OPTIONS,
  SETTLEMENT_QUEUE,
  settlementQueuePrefix,
} from '@tidegate/contracts';
import { openQueue } from '@tidegate/redis';

export interface SettlementJobs {
  /** Queues settlements as a job of their own. */
  queueAlone(settlements: readonly unknown[], jobId: string): Promise<void>;
  /** The number of jobs by state. */
  counts(): Promise<Record<string, number>>;
  /** How long the next job has been waiting, in seconds. 0: none is. */
  oldestS(nowMs: number): Promise<number>;
  close(): Promise<void>;
}

/** Opens the queue for adding and counting jobs. */
export function openSettlementJobs(options: {
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly onError: (error: Error) => void;
}): SettlementJobs {
  const queue = openQueue({
    redisUrl: options.redisUrl,
    name: SETTLEMENT_QUEUE,
    prefix: settlementQueuePrefix(options.redisPrefix),
    onError: options.onError,
  });
  return {
    async queueAlone(settlements, jobId) {
      await queue.use((jobs) =>
        jobs.add(SETTLEMENT_JOB, { settlements }, { ...SETTLEMENT_JOB_OPTIONS, jobId }),
      );
    },
    counts: () => queue.use((jobs) => jobs.getJobCounts('waiting', 'active', 'delayed', 'failed')),
    oldestS: (nowMs) =>
      queue.use(async (jobs) => {
        const [next] = await jobs.getWaiting(0, 0);
        return next ? Math.max(0, nowMs - next.timestamp) / 1_000 : 0;
      }),
    close: () => queue.close(),
  };
}
