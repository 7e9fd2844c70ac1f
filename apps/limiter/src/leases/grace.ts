/**
 * Which servers this limiter has watched long enough to call an instance dead that is silent there. After an outage, of a server or of
 * this process, gateways first get the time to report; so they do when another server has taken over.
 */
export class Grace<Server> {
  readonly #graceMs: number;
  readonly #maxGapMs: number;
  readonly #nowMs: () => number;
  /** Since when each has been watched. */
  readonly #sinceMs = new Map<Server, number>();
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

  /** A server was lost; null: all were. */
  lost(server: Server | null): void {
    if (server === null) this.#sinceMs.clear();
    else this.#sinceMs.delete(server);
  }

  /** To be called regularly, with the servers that hold keys and are there. */
  look(servers: readonly Server[]): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#seenMs > this.#maxGapMs) this.#sinceMs.clear();
    this.#seenMs = nowMs;
    for (const server of this.#sinceMs.keys()) if (!servers.includes(server)) this.#sinceMs.delete(server);
    for (const server of servers) if (!this.#sinceMs.has(server)) this.#sinceMs.set(server, nowMs);
  }

  /** Whether its grace is over; never of one that is away (null). */
  over(server: Server | null): boolean {
    const sinceMs = server === null ? undefined : this.#sinceMs.get(server);
    return sinceMs !== undefined && this.#nowMs() - sinceMs >= this.#graceMs;
  }
}
