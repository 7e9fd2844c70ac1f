/**
 * Addresses that sent too many invalid keys, as the limiters told. At most `maxEntries`, the oldest forgotten first: then
 * the limiter, asked about the next invalid key, tells again.
 */
export class BlockedAddresses {
  readonly #until = new Map<string, number>();
  readonly #maxEntries: number;
  readonly #nowMs: () => number;

  /** @param nowMs monotonic */
  constructor(maxEntries: number, nowMs: () => number) {
    this.#maxEntries = maxEntries;
    this.#nowMs = nowMs;
  }

  /** Whether any address may be blocked: finding a request's address has its price. */
  get any(): boolean {
    return this.#until.size > 0;
  }

  block(address: string, remainingMs: number): void {
    this.#until.delete(address);
    if (remainingMs <= 0) return;
    this.#until.set(address, this.#nowMs() + remainingMs);
    this.#trim();
  }

  /** 0: not blocked. */
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
