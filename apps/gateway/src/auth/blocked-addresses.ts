/**
 * Addresses that sent too many invalid keys, as reported by the limiters. Holds at most
 * `maxEntries` and forgets the oldest first. If a forgotten address sends another invalid key, the
 * limiter reports it again.
 *
 * A Map, not an lru-cache: `any` must not count blocks that are over, and the library keeps those
 * until a scan. It also allocates memory for `maxEntries` up front, and there is rarely even one.
 */
export class BlockedAddresses {
  readonly #until = new Map<string, number>();
  readonly #maxEntries: number;
  readonly #nowMs: () => number;

  /** @param nowMs monotonic clock */
  constructor(maxEntries: number, nowMs: () => number) {
    this.#maxEntries = maxEntries;
    this.#nowMs = nowMs;
  }

  /**
   * Whether any address may be blocked. Callers check this first because finding a request's
   * address is not free.
   */
  get any(): boolean {
    for (const [address, untilMs] of this.#until) {
      if (untilMs > this.#nowMs()) return true;
      this.#until.delete(address);
    }
    return false;
  }

  block(address: string, remainingMs: number): void {
    this.#until.delete(address);
    if (remainingMs <= 0) return;
    this.#until.set(address, this.#nowMs() + remainingMs);
    this.#trim();
  }

  /** Returns 0 if the address is not blocked. */
  remainingMs(address: string): number {
    const untilMs = this.#until.get(address);
    if (untilMs === undefined) return 0;
    const remainingMs = untilMs - this.#nowMs();
    if (remainingMs > 0) return remainingMs;
    this.#until.delete(address);
    return 0;
  }

  #trim(): void {
    const nowMs = this.#nowMs();
    for (const [address, untilMs] of this.#until) {
      if (untilMs > nowMs && this.#until.size <= this.#maxEntries) return;
      this.#until.delete(address);
    }
  }
}
