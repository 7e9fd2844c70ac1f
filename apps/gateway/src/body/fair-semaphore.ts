/**
 * The largest share of `maxWaiting` that one organization may have, so that it cannot lock out the
 * others.
 */
const ORG_SHARE = 1 / 4;

export interface FairSemaphoreOptions {
  /** How many callers may hold the semaphore at once. */
  readonly permits: number;
  /** How many callers of all organizations may wait. */
  readonly maxWaiting: number;
}

interface Waiter {
  readonly resolve: (got: boolean) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A semaphore that serves waiting organizations round robin, however many callers each has waiting.
 */
export class FairSemaphore {
  readonly #options: FairSemaphoreOptions;
  readonly #maxWaitingOfOrg: number;
  /** Callers waiting, by organization. The organization to be served next comes first. */
  readonly #waiting = new Map<string, Waiter[]>();
  #waitingCount = 0;
  #held = 0;
  #closed = false;

  constructor(options: FairSemaphoreOptions) {
    this.#options = options;
    this.#maxWaitingOfOrg = Math.max(1, Math.floor(options.maxWaiting * ORG_SHARE));
  }

  /**
   * Resolves to true once the caller holds the semaphore, which it then must release. Resolves to
   * false at once if too many wait already. While an organization waits, each other one gets at
   * most one permit. Rejects once closed.
   */
  async acquire(orgId: string): Promise<boolean> {
    const { permits, maxWaiting } = this.#options;
    if (this.#closed) throw new Error(CLOSED);
    if (this.#held < permits) {
      this.#held++;
      return true;
    }
    const ofOrg = this.#waiting.get(orgId) ?? [];
    if (this.#waitingCount === maxWaiting || ofOrg.length === this.#maxWaitingOfOrg) return false;
    this.#waiting.set(orgId, ofOrg);
    this.#waitingCount++;
    return new Promise((resolve, reject) => ofOrg.push({ resolve, reject }));
  }

  /** Passes the permit on to the next waiting caller. */
  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#held--;
      return;
    }
    const [orgId, ofOrg] = next;
    const first = ofOrg.shift();
    this.#waiting.delete(orgId);
    if (ofOrg.length > 0) this.#waiting.set(orgId, ofOrg);
    this.#waitingCount--;
    first?.resolve(true);
  }

  /** Rejects everyone who is waiting. */
  close(): void {
    this.#closed = true;
    for (const { reject } of [...this.#waiting.values()].flat()) reject(new Error(CLOSED));
    this.#waiting.clear();
    this.#waitingCount = 0;
  }
}

const CLOSED = 'the semaphore is closed';
