/**
 * Knows which Redis servers this limiter has watched long enough to declare an instance dead that
 * is silent there. After an outage of a server or a standstill of this process, and after a
 * failover, gateways first get time to send a heartbeat.
 */
export class Grace<Server> {
  readonly #graceMs: number;
  readonly #maxGapMs: number;
  readonly #nowMs: () => number;
  /** When the watch of each server began. */
  readonly #sinceMs = new Map<Server, number>();
  #seenMs = 0;

  /**
   * @param options.maxGapMs a longer pause between two looks means that this process stood still
   */
  constructor(options: {
    readonly graceMs: number;
    readonly maxGapMs: number;
    readonly nowMs?: () => number;
  }) {
    this.#graceMs = options.graceMs;
    this.#maxGapMs = options.maxGapMs;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /** A server was lost. Null means all of them. */
  lost(server: Server | null): void {
    if (server === null) this.#sinceMs.clear();
    else this.#sinceMs.delete(server);
  }

  /** Must be called regularly, with the servers that hold keys and are available. */
  look(servers: readonly Server[]): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#seenMs > this.#maxGapMs) this.#sinceMs.clear();
    this.#seenMs = nowMs;
    for (const server of this.#sinceMs.keys()) if (!servers.includes(server)) this.#sinceMs.delete(server);
    for (const server of servers) if (!this.#sinceMs.has(server)) this.#sinceMs.set(server, nowMs);
  }

  /** Whether the server's grace is over. Always false for a server that is away (null). */
  over(server: Server | null): boolean {
    const sinceMs = server === null ? undefined : this.#sinceMs.get(server);
    return sinceMs !== undefined && this.#nowMs() - sinceMs >= this.#graceMs;
  }
}
