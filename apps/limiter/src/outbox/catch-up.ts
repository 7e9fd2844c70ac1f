const SOON_MS = 1_000;

export interface CatchUpOptions {
  /** Resolves to the number of jobs that it offered to the queue. */
  readonly sweep: () => Promise<number>;
  /** Unfinished jobs in the queue. */
  readonly backlog: () => Promise<number>;
  /** A sweep that offered this many has probably left something. */
  readonly maxJobs: number;
  readonly everyMs: number;
  readonly nowMs: () => number;
}

/**
 * Sweeps at an interval, and sooner while a sweep leaves something. After a long outage of Postgres
 * everything arrives through the sweep, and with one sweep per interval usage would be hours late.
 * An early sweep waits until most of the last one's jobs are done, because it would offer the
 * unfinished ones again.
 */
export class CatchUp {
  readonly #options: CatchUpOptions;
  #left = false;
  #dueMs = 0;

  constructor(options: CatchUpOptions) {
    this.#options = options;
  }

  /** The time until `run` should be called again. */
  get nextMs(): number {
    const { everyMs } = this.#options;
    return this.#left ? Math.min(SOON_MS, everyMs) : everyMs;
  }

  async run(): Promise<void> {
    const { sweep, backlog, maxJobs, everyMs, nowMs } = this.#options;
    const early = this.#left && nowMs() < this.#dueMs;
    if (early && (await backlog()) > maxJobs / 2) return;
    this.#dueMs = nowMs() + everyMs;
    this.#left = false;
    this.#left = (await sweep()) >= maxJobs;
  }
}
