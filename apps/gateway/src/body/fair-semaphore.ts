/**
 * The largest share of `maxWaiting` that one organization may have, so that it cannot lock out the
 * others.
 */
const WAITING_ORG_SHARE = 1 / 4;

export interface FairSemaphoreOptions {
  /** How many callers may hold the semaphore at once, each of a different organization. */
  readonly permits: number;
  /** How many callers of all organizations may wait. */
  readonly maxWaiting: number;
  /** Calls back once. By default an unref'ed timer, which does not keep the process alive. */
  readonly after?: (callback: () => void, ms: number) => unknown;
}

/** Resolves what a caller waits for, to whether it got a permit. */
type PermitWaiter = (got: boolean) => void;

/**
 * A semaphore that serves waiting organizations round robin, however many callers each has waiting.
 * An organization holds one permit at most, and may have to cool down after it.
 */
export class FairSemaphore {
  readonly #options: Required<FairSemaphoreOptions>;
  readonly #maxWaitingOfOrg: number;
  /** Callers waiting, by organization. The organization that was served last comes last. */
  readonly #waiting = new Map<string, PermitWaiter[]>();
  /** Organizations that hold a permit. */
  readonly #holding = new Set<string>();
  /** The number of unfinished cooldowns of each organization. */
  readonly #cooling = new Map<string, number>();
  #waitingCount = 0;

  constructor(options: FairSemaphoreOptions) {
    this.#options = { after: (callback, ms) => setTimeout(callback, ms).unref(), ...options };
    this.#maxWaitingOfOrg = Math.max(1, Math.floor(options.maxWaiting * WAITING_ORG_SHARE));
  }

  /**
   * Resolves to true once the caller holds the semaphore, which it then must release. Resolves to
   * false immediately if too many wait already, and as soon as the signal aborts.
   */
  async acquire(orgId: string, signal?: AbortSignal): Promise<boolean> {
    const { maxWaiting } = this.#options;
    if (signal?.aborted) return false;
    if (this.#take(orgId)) return true;
    const ofOrg = this.#waiting.get(orgId) ?? [];
    if (this.#waitingCount === maxWaiting || ofOrg.length === this.#maxWaitingOfOrg) return false;
    this.#waiting.set(orgId, ofOrg);
    this.#waitingCount++;
    return new Promise((resolve) => {
      ofOrg.push(resolve);
      signal?.addEventListener('abort', () => this.#leave(orgId, resolve));
    });
  }

  /**
   * Gives the permit back. The organization gets its next one after `cooldownMs` at the earliest.
   */
  release(orgId: string, cooldownMs = 0): void {
    this.#holding.delete(orgId);
    if (cooldownMs > 0) this.coolDown(orgId, cooldownMs);
    this.#serve();
  }

  /**
   * The organization gets its next permit after `cooldownMs` at the earliest. Cooldowns may
   * overlap.
   */
  coolDown(orgId: string, cooldownMs: number): void {
    this.#cooling.set(orgId, (this.#cooling.get(orgId) ?? 0) + 1);
    this.#options.after(() => this.#endCooldown(orgId), cooldownMs);
  }

  #endCooldown(orgId: string): void {
    const left = (this.#cooling.get(orgId) ?? 0) - 1;
    if (left > 0) this.#cooling.set(orgId, left);
    else this.#cooling.delete(orgId);
    this.#serve();
  }

  /** Does nothing if the caller no longer waits. */
  #leave(orgId: string, waiter: PermitWaiter): void {
    const ofOrg = this.#waiting.get(orgId) ?? [];
    const at = ofOrg.indexOf(waiter);
    if (at === -1) return;
    ofOrg.splice(at, 1);
    if (ofOrg.length === 0) this.#waiting.delete(orgId);
    this.#waitingCount--;
    waiter(false);
  }

  /** Returns false if all permits are held, or if the organization holds one or cools down. */
  #take(orgId: string): boolean {
    if (this.#holding.size === this.#options.permits) return false;
    if (this.#holding.has(orgId) || this.#cooling.has(orgId)) return false;
    this.#holding.add(orgId);
    return true;
  }

  #serve(): void {
    for (const [orgId, ofOrg] of this.#waiting) {
      if (this.#holding.size === this.#options.permits) return;
      if (!this.#take(orgId)) continue;
      const first = ofOrg.shift();
      this.#waiting.delete(orgId);
      if (ofOrg.length > 0) this.#waiting.set(orgId, ofOrg);
      this.#waitingCount--;
      first?.(true);
    }
  }
}
