import { orgTagOf, SETTLEMENT_RETRIES_MS, type Settlement } from '@tidegate/contracts';
import type { Lock } from '../redis/lock.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { parseOutboxEntry } from './entry.ts';
import type { SettlementQueue } from './queue.ts';

const ORGS_PER_PAGE = 100;
/**
 * Settlements per job. Kept small, because a settlement that Postgres rejects holds up the others
 * in its job.
 */
const BATCH_MAX = 100;
/** Longer than a job lives, including its attempts and the waits between them. */
const GENERATION_MS = 2 * SETTLEMENT_RETRIES_MS;

export interface SweepOptions extends ScriptDeps {
  readonly lock: Lock;
  readonly queue: SettlementQueue;
  /** Younger entries are left to the queue's fast path. */
  readonly minAgeMs: number;
  /** Jobs per run. The next run continues where this one ended. */
  readonly maxJobs: number;
  /**
   * With more jobs than this in the queue, metering is behind. The sweep then waits, because what
   * it would add is probably queued already.
   */
  readonly maxBacklog: number;
  readonly onRepublished: (settlements: number) => void;
  /**
   * Called after each run with the age of the oldest entry that it found; 0: none was old enough.
   */
  readonly onSwept?: (oldestS: number) => void;
}

type OutboxPage = readonly (readonly [id: string, fields: readonly string[]])[];

/** The budget of one run. */
interface Budget {
  /** How many jobs are left. */
  jobs: number;
  /** Whether metering is behind. Null if not asked yet. */
  behind: Promise<boolean> | null;
  /** The time of the oldest entry, in Unix milliseconds. Null: none is old enough. */
  oldestMs: number | null;
}

/**
 * Brings metering the settlements that the queue has lost. A batch's job id derives from its first
 * entry. While nothing is confirmed, batches stay the same, so a job that is waiting or being
 * retried is not queued twice. The id changes with the age of that entry, every two hours. So a job
 * that died meanwhile holds up neither its own settlements nor later ones that would get the same
 * id.
 */
export class OutboxSweep {
  readonly #options: SweepOptions;
  #cursor = '0';

  constructor(options: SweepOptions) {
    this.#options = options;
  }

  /**
   * Sweeps once. Resolves to the number of jobs offered to the queue. Rejects if Redis is
   * unavailable.
   */
  async run(): Promise<number> {
    const { lock, maxJobs, minAgeMs, onSwept } = this.#options;
    const [acquired, before] = await Promise.all([lock.acquire(), this.#before()]);
    if (!acquired) return 0;
    const budget: Budget = { jobs: maxJobs, behind: null, oldestMs: null };
    const sent = await this.#sweep(before, budget);
    const oldestS = budget.oldestMs === null ? 0 : (Number(before) + minAgeMs - budget.oldestMs) / 1_000;
    onSwept?.(oldestS);
    return sent;
  }

  /** Resolves to the number of jobs offered. */
  async #sweep(before: string, budget: Budget): Promise<number> {
    const { maxJobs, store, names } = this.#options;
    do {
      const at = this.#cursor;
      const [cursor, orgIds] = (await store.command(
        'sscan',
        names.orgs,
        this.#cursor,
        'COUNT',
        ORGS_PER_PAGE,
      )) as [string, string[]];
      this.#cursor = cursor;
      await Promise.all(orgIds.map((orgId) => this.#sweepOrg(orgId, before, budget)));
      if (await budget.behind) {
        this.#cursor = at;
        return 0;
      }
    } while (this.#cursor !== '0' && budget.jobs > 0);
    return maxJobs - budget.jobs;
  }

  /**
   * The newest outbox id that is old enough. Entry ids come from Redis' own clock, without the
   * tests' offset.
   */
  async #before(): Promise<string> {
    const [seconds, micros] = (await this.#options.store.commandAt(null, 'time')) as [string, string];
    const nowMs = Math.floor(Number(seconds) * 1_000 + Number(micros) / 1_000);
    return String(nowMs - this.#options.minAgeMs);
  }

  /**
   * Sends at least one batch for every organization of a page, so that none starves behind another.
   */
  async #sweepOrg(orgId: string, before: string, budget: Budget): Promise<void> {
    let from = '-';
    do {
      const page = await this.#read(orgId, from, before);
      const oldestId = page[0]?.[0];
      const newestId = page.at(-1)?.[0];
      if (oldestId === undefined || newestId === undefined) return;
      budget.oldestMs = Math.min(budget.oldestMs ?? Number.MAX_VALUE, Number.parseInt(oldestId, 10));
      if (!(await this.#send(settlementsOf(orgId, page), before, budget))) return;
      if (page.length < BATCH_MAX) return;
      from = `(${newestId}`;
    } while (budget.jobs > 0);
  }

  /** Resolves to false if metering is behind. */
  async #send(batch: readonly Settlement[], before: string, budget: Budget): Promise<boolean> {
    const [first] = batch;
    // Do not ask the queue while there is nothing to add.
    if (!first) return true;
    budget.behind ??= this.#isBehind();
    if (await budget.behind) return false;
    budget.jobs--;
    await this.#options.queue.add(batch, { jobId: jobIdOf(first, before) });
    this.#options.onRepublished(batch.length);
    return true;
  }

  async #isBehind(): Promise<boolean> {
    const { queue, maxBacklog } = this.#options;
    return (await queue.backlog()) > maxBacklog;
  }

  /** Reads one page, including the entries that this limiter cannot parse. */
  async #read(orgId: string, from: string, before: string): Promise<OutboxPage> {
    const { store, names } = this.#options;
    return (await store.command(
      'xrange',
      names.outbox(orgId),
      from,
      before,
      'COUNT',
      BATCH_MAX,
    )) as OutboxPage;
  }
}

/**
 * The settlements of a page. An entry that cannot be read here, such as one of a newer release,
 * stays in the outbox for a limiter that can.
 */
const settlementsOf = (orgId: string, page: OutboxPage): Settlement[] =>
  page
    .map(([id, fields]) => parseOutboxEntry(orgId, id, fields[1] ?? ''))
    .filter((settlement) => settlement !== null);

function jobIdOf({ orgId, outboxId }: Settlement, before: string): string {
  const generation = Math.floor((Number(before) - Number.parseInt(outboxId, 10)) / GENERATION_MS);
  return `sweep-${orgTagOf(orgId)}-${outboxId}-${generation}`;
}
