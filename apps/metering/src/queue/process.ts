import { createHash } from 'node:crypto';
import { type Settlement, toQueued } from '@tidegate/contracts';
import { parseBatch } from '../settlements/parse.ts';
import type { InvalidSettlement } from '../settlements/writer.ts';

export interface ProcessJobOptions {
  readonly write: (settlements: readonly Settlement[]) => Promise<InvalidSettlement[]>;
  /** Passes on committed settlements. Does not wait. */
  readonly confirm: (settlements: readonly Settlement[]) => void;
  /**
   * Queues data as a separate job. If a job with this id exists, even a dead one, it stays as it
   * is.
   */
  readonly queueSeparately: (data: readonly unknown[], jobId: string) => Promise<void>;
  /** Redis' clock in Unix milliseconds. Settlements are dated by it. */
  readonly redisNowMs: () => Promise<number>;
}

export interface BatchJob {
  readonly id?: string | undefined;
  readonly data: unknown;
}

/** No retry can help this job. It becomes a dead letter immediately. */
export class InvalidSettlementError extends Error {
  override readonly name = 'InvalidSettlementError';
}

/** Dead letters of earlier releases have this prefix, too. */
const INVALID_JOB_ID = /^poison-/;

/**
 * Processes one job: writes and confirms the valid settlements. Each settlement that can never be
 * written becomes a separate job, which fails for good. So it does not hold up its batch. Nor does
 * the batch become a dead letter: the outbox sweep would then take later settlements with the same
 * job id to be queued already.
 *
 * @throws InvalidSettlementError for a separate job that is still invalid; any other error means
 * that the job must be tried again
 */
export async function processJob(options: ProcessJobOptions, job: BatchJob): Promise<void> {
  const { settlements, invalid: malformed } = parseBatch(job.data, await options.redisNowMs());
  const refused = settlements.length > 0 ? await options.write(settlements) : [];
  const refusedData = new Set<unknown>(refused.map(({ data }) => data));
  options.confirm(settlements.filter((settlement) => !refusedData.has(settlement)));
  const refusedItems = refused.map(({ data, reason }) => ({ data: toQueued(data), reason }));
  const invalid = [...malformed, ...refusedItems];
  const [first] = invalid;
  if (!first) return;
  if (job.id !== undefined && INVALID_JOB_ID.test(job.id)) throw new InvalidSettlementError(first.reason);
  for (const { data } of invalid) await options.queueSeparately([data], invalidJobId(data));
}

/** The same data always gets the same id, so it is at most one dead letter. */
function invalidJobId(data: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(data) ?? '');
  return `poison-${hash.digest('hex').slice(0, 32)}`;
}
