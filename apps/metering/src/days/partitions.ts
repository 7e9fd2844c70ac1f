import type { Settlement } from '@tidegate/contracts';
import {
  type Db,
  dropOldRequestPartitions,
  ensureRequestPartitions,
  LOCK_NOT_AVAILABLE,
  sqlStateOf,
} from '@tidegate/db';
import { DAY_MS, dayOf, HOUR_MS } from '@tidegate/limits';
import { type Chore, createOutage, type Logger, type Outage, startChore } from '@tidegate/runtime';
import { firstKeptDay } from '../settlements/parse.ts';

const RETRY_MS = 10_000;

/** Redis' clock could not be read. The cause says why. */
class NoClock extends Error {}

export interface DayPartitionsOptions {
  readonly db: Db;
  readonly logger: Logger;
  /** This machine's clock in Unix milliseconds. It may be wrong. */
  readonly nowMs: () => number;
  /** Redis' clock in Unix milliseconds. Requests are dated by it. */
  readonly redisNowMs: () => Promise<number>;
}

/**
 * The day partitions of request rows. They are created before they are needed, and dropped when
 * their time is over.
 */
export class DayPartitions {
  readonly #options: DayPartitionsOptions;
  readonly #drops: Outage;
  #known = new Set<string>();
  #chore: Chore | undefined;

  constructor(options: DayPartitionsOptions) {
    this.#options = options;
    this.#drops = createOutage(
      options.logger,
      'expired request rows could not be dropped, because a dump or another reader holds the table',
    );
  }

  /**
   * Creates the partitions that these rows need. Asks Postgres only about days that it has not seen
   * before.
   */
  async ensureFor(settlements: readonly Settlement[]): Promise<void> {
    const days = new Set(settlements.map(({ reservedAtMs }) => dayOf(reservedAtMs)));
    const unknown = [...days].filter((day) => !this.#known.has(day));
    if (unknown.length === 0) return;
    await ensureRequestPartitions(this.#options.db, unknown);
    for (const day of unknown) this.#known.add(day);
  }

  /** Forgets the known days, so that the next rows check again. */
  forget(): void {
    this.#known = new Set();
  }

  /**
   * Starts the hourly work: creating the partitions of today and tomorrow, and dropping expired
   * ones.
   */
  start(): void {
    const { logger } = this.#options;
    const clock = createOutage(logger, "Redis' clock, by which days begin, could not be read");
    const partitions = createOutage(logger, 'day partitions could not be created or dropped');
    this.#chore = startChore({
      everyMs: HOUR_MS,
      retryMs: RETRY_MS,
      due: true,
      run: () => this.tidy(),
      onRan() {
        clock.worked();
        partitions.worked();
      },
      onError: (err) => (err instanceof NoClock ? clock.failed(err.cause) : partitions.failed(err)),
    });
  }

  /** Lets the current run finish. */
  async stop(): Promise<void> {
    await this.#chore?.stop();
  }

  /**
   * Drops a partition only if it has expired by both clocks, because a drop cannot be undone. While
   * a reader holds the table, leaves it to the next regular run: writers wait behind each attempt.
   */
  async tidy(): Promise<void> {
    const { db, logger, nowMs, redisNowMs } = this.#options;
    const atMs = await redisNowMs().catch((cause) => {
      throw new NoClock("Redis' clock could not be read", { cause });
    });
    await ensureRequestPartitions(db, [dayOf(atMs), dayOf(atMs + DAY_MS)]);
    const dropped = await dropOldRequestPartitions(db, firstKeptDay(Math.min(atMs, nowMs()))).catch((err) => {
      if (sqlStateOf(err) !== LOCK_NOT_AVAILABLE) throw err;
      this.#drops.failed(err);
      return null;
    });
    if (dropped === null) return;
    this.#drops.worked();
    if (dropped.length === 0) return;
    this.forget();
    logger.info({ days: dropped }, 'expired request rows dropped');
  }
}
