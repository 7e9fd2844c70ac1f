import type { Settlement } from '@tidegate/contracts';
import { type Db, dropOldRequestPartitions, ensureRequestPartitions } from '@tidegate/db';
import { dayOf } from '@tidegate/limits';
import type { Logger } from '@tidegate/runtime';
import { firstKeptDay } from '../settlements/parse.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** The day partitions of request rows: made before they are needed, dropped once their time is over. */
export class DayPartitions {
  readonly #db: Db;
  readonly #logger: Logger;
  readonly #now: () => number;
  #known = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Db, logger: Logger, now: () => number) {
    this.#db = db;
    this.#logger = logger;
    this.#now = now;
  }

  /** Makes the partitions that these rows need. Asks Postgres only about days not seen before. */
  async ensureFor(settlements: readonly Settlement[]): Promise<void> {
    const days = new Set(settlements.map(({ admittedAtMs }) => dayOf(admittedAtMs)));
    const unknown = [...days].filter((day) => !this.#known.has(day));
    if (unknown.length === 0) return;
    await ensureRequestPartitions(this.#db, unknown);
    for (const day of unknown) this.#known.add(day);
  }

  /** Forgets what it knew: the next rows look again. */
  forget(): void {
    this.#known = new Set();
  }

  /** Every hour, from now on: today's and tomorrow's partitions, and the drop of those past their time. */
  start(): void {
    const round = () =>
      void this.tidy().catch((err) => this.#logger.warn({ err }, 'day partitions not tidied'));
    round();
    this.#timer = setInterval(round, HOUR_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async tidy(): Promise<void> {
    const nowMs = this.#now();
    await ensureRequestPartitions(this.#db, [dayOf(nowMs), dayOf(nowMs + DAY_MS)]);
    const dropped = await dropOldRequestPartitions(this.#db, firstKeptDay(nowMs));
    if (dropped.length === 0) return;
    this.forget();
    this.#logger.info({ days: dropped }, 'request rows past their time dropped');
  }
}
