/** How many requests may be under way at once, and how many may wait. */
export interface QueueLimits {
  readonly atOnce: number;
  /** Of one address. Beyond it, requests are refused. */
  readonly maxWaiting: number;
  /** After this time a request no longer counts as under way. Some answers last minutes. */
  readonly countedMs: number;
}

/**
 * A screen takes some milliseconds and 300 KB. Thousands at once would take all memory, and no one
 * else would get an answer meanwhile.
 */
export const QUEUE_LIMITS: QueueLimits = { atOnce: 32, maxWaiting: 250, countedMs: 500 };

type Begin = () => void;

/** Requests begin a few at a time. Addresses take turns, each with its requests in their order. */
export class RequestQueue {
  readonly #limits: QueueLimits;
  /** By address, the next one first. */
  readonly #waiting = new Map<string, Begin[]>();
  #begun = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /**
   * Resolves once a request may begin, to a function to call when it is over. Null: too many wait.
   */
  take(address: string): Promise<() => void> | null {
    if (this.#begun < this.#limits.atOnce) return Promise.resolve(this.#begin());
    const own = this.#waiting.get(address) ?? [];
    if (own.length >= this.#limits.maxWaiting) return null;
    this.#waiting.set(address, own);
    return new Promise((resolve) => own.push(() => resolve(this.#begin())));
  }

  #begin(): () => void {
    this.#begun++;
    let over = false;
    const end = () => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      this.#begun--;
      this.#next();
    };
    const timer = setTimeout(end, this.#limits.countedMs);
    return end;
  }

  #next(): void {
    const [first] = this.#waiting;
    if (!first) return;
    const [address, own] = first;
    const begin = own.shift();
    // The address goes behind all others.
    this.#waiting.delete(address);
    if (own.length > 0) this.#waiting.set(address, own);
    begin?.();
  }
}
