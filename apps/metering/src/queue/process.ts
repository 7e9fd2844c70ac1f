import { createHash } from 'node:crypto';
import type { Settlement } from '@tidegate/contracts';
import { parseBatch } from '../settlements/parse.ts';
import type { Rejected } from '../settlements/writer.ts';

export interface ProcessOptions {
  readonly write: (settlements: readonly Settlement[]) => Promise<Rejected[]>;
  /** Hands committed settlements on; does not wait. */
  readonly confirm: (settlements: readonly Settlement[]) => void;
  /** Queues data as a job of its own; one of the same id that is still there, dead ones included, stays as it is. */
  readonly setApart: (data: readonly unknown[], jobId: string) => Promise<void>;
  /** Redis' clock, Unix milliseconds: settlements are dated by it. */
  readonly redisNowMs: () => Promise<number>;
}

export interface BatchJob {
  readonly id?: string | undefined;
  readonly data: unknown;
}

/** A job that no retry can do: it goes to the dead letters at once. */
export class PoisonError extends Error {
  override readonly name = 'PoisonError';
}

const POISON_ID = /^poison-/;

/**
 * One job: writes what is valid and confirms it. What can never be written is set apart as a job of its own, which fails for
 * good: so it neither holds up its batch nor keeps the batch's id among the dead letters, where the outbox sweep would
 * for a while take later settlements for queued.
 *
 * @throws PoisonError for a job that was set apart and is still not valid; any other error: to be tried again
 */
export async function processJob(options: ProcessOptions, job: BatchJob): Promise<void> {
  const { settlements, poison } = parseBatch(job.data, await options.redisNowMs());
  const rejected = settlements.length > 0 ? await options.write(settlements) : [];
  const refused = new Set<unknown>(rejected.map(({ data }) => data));
  options.confirm(settlements.filter((settlement) => !refused.has(settlement)));
  const bad = [...poison, ...rejected];
  const [first] = bad;
  if (!first) return;
  if (job.id !== undefined && POISON_ID.test(job.id)) throw new PoisonError(first.reason);
  for (const { data } of bad) await options.setApart([data], poisonId(data));
}

/** The same data, however often it comes, is one dead letter. */
function poisonId(data: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(data) ?? '');
  return `poison-${hash.digest('hex').slice(0, 32)}`;
}
