/**
 * Tracks which Redis servers have been available for the whole grace period. Only then may the
 * reaper declare dead an instance that is silent on that server. After an outage of a server, a
 * failover or a standstill of this process, gateways first get time to send a heartbeat.
 */
export class StableServers<Server> {
  readonly #graceMs: number;
  readonly #maxGapMs: number;
  readonly #nowMs: () => number;
  /** Since when each server has been available without a break. */
  readonly #sinceMs = new Map<Server, number>();
  #observedMs = 0;

  /**
   * @param options.maxGapMs a longer pause between two calls of `observe` means that this process
   *   stood still
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

  /** Must be called regularly, with the servers that hold keys and are available now. */
  observe(servers: readonly Server[]): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#observedMs > this.#maxGapMs) this.#sinceMs.clear();
    this.#observedMs = nowMs;
    for (const server of this.#sinceMs.keys()) if (!servers.includes(server)) this.#sinceMs.delete(server);
    for (const server of servers) if (!this.#sinceMs.has(server)) this.#sinceMs.set(server, nowMs);
  }

  /** Always false for a server that is unavailable (null). */
  isStable(server: Server | null): boolean {
    const sinceMs = server === null ? undefined : this.#sinceMs.get(server);
    return sinceMs !== undefined && this.#nowMs() - sinceMs >= this.#graceMs;
  }
}
