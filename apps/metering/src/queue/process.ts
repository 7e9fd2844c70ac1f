import { createHash } from 'node:crypto';
import type { Settlement } from '@tidegate/contracts';
import { parseBatch } from '../settlements/parse.ts';
import type { Rejected } from '../settlements/writer.ts';

export interface ProcessJobOptions {
  readonly write: (settlements: readonly Settlement[]) => Promise<Rejected[]>;
  /** Passes on committed settlements. Does not wait. */
  readonly confirm: (settlements: readonly Settlement[]) => void;
  /**
   * Queues data as a separate job. If a job with this id exists, even a dead one, it stays as it
   * is.
   */
  readonly isolate: (data: readonly unknown[], jobId: string) => Promise<void>;
  /** Redis' clock in Unix milliseconds. Settlements are dated by it. */
  readonly redisNowMs: () => Promise<number>;
}

export interface BatchJob {
  readonly id?: string | undefined;
  readonly data: unknown;
}

/** No retry can help this job. It becomes a dead letter at once. */
export class PoisonError extends Error {
  override readonly name = 'PoisonError';
}

const POISON_ID = /^poison-/;

/**
 * Processes one job: writes and confirms the valid settlements. Each settlement that can never be
 * written becomes a separate job, which fails for good. So it does not hold up its batch. It also
 * does not keep the batch's id among the dead letters, where the outbox sweep would take later
 * settlements of that id for queued.
 *
 * @throws PoisonError for a separate job that is still invalid; any other error means that the job
 * must be tried again
 */
export async function processJob(options: ProcessJobOptions, job: BatchJob): Promise<void> {
  const { settlements, poison } = parseBatch(job.data, await options.redisNowMs());
  const rejected = settlements.length > 0 ? await options.write(settlements) : [];
  const refused = new Set<unknown>(rejected.map(({ data }) => data));
  options.confirm(settlements.filter((settlement) => !refused.has(settlement)));
  const bad = [...poison, ...rejected];
  const [first] = bad;
  if (!first) return;
  if (job.id !== undefined && POISON_ID.test(job.id)) throw new PoisonError(first.reason);
  for (const { data } of bad) await options.isolate([data], poisonId(data));
}

/** The same data always gets the same id, so it is at most one dead letter. */
function poisonId(data: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(data) ?? '');
  return `poison-${hash.digest('hex').slice(0, 32)}`;
}
