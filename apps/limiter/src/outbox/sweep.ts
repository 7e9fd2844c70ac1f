import { orgTagOf, SETTLEMENT_RETRIES_MS, type Settlement } from '@tidegate/contracts';
import type { Context } from '../context.ts';
import type { Lock } from '../redis/lock.ts';
import { settlementOf } from './entry.ts';
import type { SettlementQueue } from './queue.ts';

const ORGS_PER_PAGE = 100;
/** Settlements in a job: few, because one that Postgres never takes holds up those beside it. */
const BATCH_MAX = 100;
/** Longer than a job lives, its waits and the attempts themselves. */
const GENERATION_MS = 2 * SETTLEMENT_RETRIES_MS;

export interface SweepOptions extends Context {
  readonly lock: Lock;
  readonly queue: SettlementQueue;
  /** Younger entries are left to the queue's fast path. */
  readonly minAgeMs: number;
  /** Jobs a turn; the next turn goes on from there. */
  readonly maxJobs: number;
  /** With so many jobs waiting, metering is behind, and the queue knows already what it misses. */
  readonly maxBacklog: number;
  readonly onRepublished: (settlements: number) => void;
}

/**
 * Brings settlements to metering that the queue has lost. A batch's job id derives from its first entry: while nothing
 * is confirmed, batches stay the same, and a job that waits or retries is not queued again. The id changes as that entry
 * grows old, every two hours: a job that died in the meantime holds up neither its own settlements nor the later ones
 * that would come under the same id.
 */
export class OutboxSweep {
  readonly #options: SweepOptions;
  #cursor = '0';

  constructor(options: SweepOptions) {
    this.#options = options;
  }

  /** One turn; resolves to the jobs offered to the queue. Rejects when Redis is away. */
  async turn(): Promise<number> {
    const { lock, queue, maxBacklog, maxJobs, store, names } = this.#options;
    if (!(await lock.hold())) return 0;
    if ((await queue.backlog()) > maxBacklog) return 0;
    const before = await this.#before();
    const budget = { jobs: maxJobs };
    do {
      const [cursor, orgIds] = (await store.command(
        'sscan',
        names.orgs,
        this.#cursor,
        'COUNT',
        ORGS_PER_PAGE,
      )) as [string, string[]];
      this.#cursor = cursor;
      await Promise.all(orgIds.map((orgId) => this.#sweepOrg(orgId, before, budget)));
    } while (this.#cursor !== '0' && budget.jobs > 0);
    return maxJobs - budget.jobs;
  }

  /** The newest outbox id that is old enough. Entries carry Redis' own clock, whatever the tests' offset. */
  async #before(): Promise<string> {
    const [seconds, micros] = (await this.#options.store.commandAt(null, 'time')) as [string, string];
    const nowMs = Math.floor(Number(seconds) * 1_000 + Number(micros) / 1_000);
    return String(nowMs - this.#options.minAgeMs);
  }

  /** At least one batch of every organization of a page, so that none starves behind another. */
  async #sweepOrg(orgId: string, before: string, budget: { jobs: number }): Promise<void> {
    let from = '-';
    do {
      const batch = await this.#read(orgId, from, before);
      const [first] = batch;
      const last = batch.at(-1);
      if (!first || !last) return;
      budget.jobs--;
      await this.#options.queue.add(batch, jobIdOf(first, before));
      this.#options.onRepublished(batch.length);
      if (batch.length < BATCH_MAX) return;
      from = `(${last.outboxId}`;
    } while (budget.jobs > 0);
  }

  async #read(orgId: string, from: string, before: string): Promise<Settlement[]> {
    const { store, names } = this.#options;
    const entries = (await store.command(
      'xrange',
      names.outbox(orgId),
      from,
      before,
      'COUNT',
      BATCH_MAX,
    )) as [id: string, fields: string[]][];
    return entries
      .map(([id, fields]) => settlementOf(orgId, id, fields[1] ?? ''))
      .filter((settlement) => settlement !== null);
  }
}

function jobIdOf({ orgId, outboxId }: Settlement, before: string): string {
  const generation = Math.floor((Number(before) - Number.parseInt(outboxId, 10)) / GENERATION_MS);
  return `sweep-${orgTagOf(orgId)}-${outboxId}-${generation}`;
}
