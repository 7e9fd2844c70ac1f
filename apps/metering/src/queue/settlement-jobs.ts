import {
  SETTLEMENT_JOB,
  SETTLEMENT_JOB_OPTIONS,
  SETTLEMENT_QUEUE,
  settlementQueuePrefix,
} from '@tidegate/contracts';
import { openQueue } from '@tidegate/redis';
import type { Job } from 'bullmq';

/** Dead letters that are read at once. */
const PAGE = 20;

export interface SettlementJobs {
  /** Queues settlements as a job of their own. */
  queueSeparately(settlements: readonly unknown[], jobId: string): Promise<void>;
  /**
   * Removes the settlements of deleted organizations from the dead letters. Resolves to how many it
   * removed.
   * @param deletedOf resolves to those of the given organizations that are deleted
   */
  dropDead(deletedOf: (orgIds: readonly string[]) => Promise<ReadonlySet<string>>): Promise<number>;
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
  /** See `openQueue`. */
  readonly answerTimeoutMs?: number;
  readonly onError: (error: Error) => void;
}): SettlementJobs {
  const queue = openQueue({
    ...options,
    name: SETTLEMENT_QUEUE,
    prefix: settlementQueuePrefix(options.redisPrefix),
  });
  return {
    async queueSeparately(settlements, jobId) {
      await queue.use((jobs) =>
        jobs.add(SETTLEMENT_JOB, { settlements }, { ...SETTLEMENT_JOB_OPTIONS, jobId }),
      );
    },
    dropDead: (deletedOf) =>
      queue.use(async (jobs) => {
        let dropped = 0;
        let kept = 0;
        while (true) {
          const page = await jobs.getFailed(kept, kept + PAGE - 1);
          if (page.length === 0) return dropped;
          const deleted = await deletedOf([...new Set(page.flatMap(orgsOf))]);
          for (const job of page) {
            const settlements = settlementsOf(job);
            const rest = settlements.filter((settlement) => !deleted.has(orgOf(settlement) ?? ''));
            dropped += settlements.length - rest.length;
            if (settlements.length > 0 && rest.length === 0) {
              await job.remove();
              continue;
            }
            if (rest.length < settlements.length) await job.updateData({ ...job.data, settlements: rest });
            kept++;
          }
        }
      }),
    counts: () => queue.use((jobs) => jobs.getJobCounts('waiting', 'active', 'delayed', 'failed')),
    oldestS: (nowMs) =>
      queue.use(async (jobs) => {
        const [next] = await jobs.getWaiting(0, 0);
        return next ? Math.max(0, nowMs - next.timestamp) / 1_000 : 0;
      }),
    close: () => queue.close(),
  };
}

/** A dead letter may hold anything. */
function settlementsOf({ data }: Job): readonly unknown[] {
  const settlements: unknown = data?.settlements;
  return Array.isArray(settlements) ? settlements : [];
}

const orgsOf = (job: Job): string[] => settlementsOf(job).flatMap((settlement) => orgOf(settlement) ?? []);

function orgOf(settlement: unknown): string | undefined {
  const orgId: unknown = (settlement as { orgId?: unknown } | null)?.orgId;
  return typeof orgId === 'string' ? orgId : undefined;
}
