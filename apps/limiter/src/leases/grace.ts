/**
 * Whether this limiter has watched Redis long enough to call a silent instance dead. After an outage, of Redis or of this
 * process, gateways first get the time to report.
 */
export class Grace {
  readonly #graceMs: number;
  readonly #maxGapMs: number;
  readonly #nowMs: () => number;
  #sinceMs: number | null = null;
  #seenMs = 0;

  /** @param options.maxGapMs a longer pause between two looks means that this process stood still */
  constructor(options: {
    readonly graceMs: number;
    readonly maxGapMs: number;
    readonly nowMs?: () => number;
  }) {
    this.#graceMs = options.graceMs;
    this.#maxGapMs = options.maxGapMs;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /** Redis was lost. */
  lost(): void {
    this.#sinceMs = null;
  }

  /** To be called regularly while Redis answers. True: the grace is over. */
  over(): boolean {
    const nowMs = this.#nowMs();
    if (this.#sinceMs === null || nowMs - this.#seenMs > this.#maxGapMs) this.#sinceMs = nowMs;
    this.#seenMs = nowMs;
    return nowMs - this.#sinceMs >= this.#graceMs;
  }
}
