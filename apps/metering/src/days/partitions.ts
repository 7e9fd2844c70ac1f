import type { Settlement } from '@tidegate/contracts';
import { type Db, dropOldRequestPartitions, ensureRequestPartitions } from '@tidegate/db';
import { dayOf } from '@tidegate/limits';
import type { Logger } from '@tidegate/runtime';
import { firstKeptDay } from '../settlements/parse.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const RETRY_MS = 10_000;

export interface DayPartitionsOptions {
  readonly db: Db;
  readonly logger: Logger;
  /** This machine's clock, Unix milliseconds; it may be wrong. */
  readonly now: () => number;
  /** Redis' clock, Unix milliseconds: requests are dated by it. */
  readonly redisNowMs: () => Promise<number>;
}

/** The day partitions of request rows: made before they are needed, dropped once their time is over. */
export class DayPartitions {
  readonly #options: DayPartitionsOptions;
  #known = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: DayPartitionsOptions) {
    this.#options = options;
  }

  /** Makes the partitions that these rows need. Asks Postgres only about days not seen before. */
  async ensureFor(settlements: readonly Settlement[]): Promise<void> {
    const days = new Set(settlements.map(({ admittedAtMs }) => dayOf(admittedAtMs)));
    const unknown = [...days].filter((day) => !this.#known.has(day));
    if (unknown.length === 0) return;
    await ensureRequestPartitions(this.#options.db, unknown);
    for (const day of unknown) this.#known.add(day);
  }

  /** Forgets what it knew: the next rows look again. */
  forget(): void {
    this.#known = new Set();
  }

  /** Every hour, from now on: today's and tomorrow's partitions, and the drop of those past their time. */
  start(): void {
    this.#tidyIn(0);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** Drops nothing that is not past its time by both clocks: a drop cannot be taken back. */
  async tidy(): Promise<void> {
    const { db, logger, now, redisNowMs } = this.#options;
    const atMs = await redisNowMs();
    await ensureRequestPartitions(db, [dayOf(atMs), dayOf(atMs + DAY_MS)]);
    const dropped = await dropOldRequestPartitions(db, firstKeptDay(Math.min(atMs, now())));
    if (dropped.length === 0) return;
    this.forget();
    logger.info({ days: dropped }, 'request rows past their time dropped');
  }

  #tidyIn(delayMs: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.tidy().then(
        () => this.#tidyIn(HOUR_MS),
        (err) => {
          this.#options.logger.warn({ err }, 'day partitions not tidied');
          this.#tidyIn(RETRY_MS);
        },
      );
    }, delayMs);
    this.#timer.unref();
  }
}
