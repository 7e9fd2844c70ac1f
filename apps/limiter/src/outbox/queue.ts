import {
  SETTLEMENT_JOB,
  SETTLEMENT_JOB_OPTIONS,
  SETTLEMENT_QUEUE,
  type Settlement,
  type SettlementBatch,
  settlementQueuePrefix,
  toQueued,
} from '@tidegate/contracts';
import { openQueue } from '@tidegate/redis';

export interface JobOptions {
  /** Skips the job if one with this id still exists, dead or not. */
  readonly jobId?: string;
  readonly traces?: SettlementBatch['traces'];
}

/** The limiter's side of the settlement queue. Rejects if Redis does not accept a job. */
export interface SettlementQueue {
  add(settlements: readonly Settlement[], options?: JobOptions): Promise<void>;
  /** Unfinished jobs, without dead ones. */
  backlog(): Promise<number>;
  close(): Promise<void>;
}

export function createSettlementQueue(options: {
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly answerTimeoutMs: number;
  readonly onError: (error: Error) => void;
}): SettlementQueue {
  const queue = openQueue({
    redisUrl: options.redisUrl,
    name: SETTLEMENT_QUEUE,
    prefix: settlementQueuePrefix(options.redisPrefix),
    answerTimeoutMs: options.answerTimeoutMs,
    onError: options.onError,
  });
  return {
    async add(settlements, { jobId, traces } = {}) {
      const jobOptions = { ...SETTLEMENT_JOB_OPTIONS, ...(jobId === undefined ? {} : { jobId }) };
      const queued = settlements.map(toQueued);
      const batch: SettlementBatch = traces ? { settlements: queued, traces } : { settlements: queued };
      await queue.use((jobs) => jobs.add(SETTLEMENT_JOB, batch, jobOptions));
    },
    async backlog() {
      const states = ['waiting', 'active', 'delayed', 'prioritized'] as const;
      const counts = await queue.use((jobs) => jobs.getJobCounts(...states));
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    close: () => queue.close(),
  };
}
