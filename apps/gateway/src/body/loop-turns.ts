/** What one organization may use in a turn of the event loop: this much, or one larger piece. */
const TURN_BYTES = 16 * 1024;

interface Waiting {
  readonly bytes: number;
  readonly resolve: () => void;
}

/**
 * Shares the main thread's time for reading or parsing bodies. Whatever one organization sends, the
 * others wait no longer than for its share of a turn.
 */
export class LoopTurns {
  readonly #nextTurn: (callback: () => void) => unknown;
  /** Bytes used in this turn, by organization. */
  readonly #used = new Map<string, number>();
  readonly #waiting = new Map<string, Waiting[]>();
  #turnIsDue = false;

  /** @param nextTurn calls back once, in the next turn of the event loop */
  constructor(nextTurn: (callback: () => void) => unknown = setImmediate) {
    this.#nextTurn = nextTurn;
  }

  /**
   * Returns null if the caller may go on at once. Otherwise the promise resolves when it may. The
   * caller bounds how many wait.
   */
  take(orgId: string, bytes: number): Promise<void> | null {
    const waiting = this.#waiting.get(orgId);
    if (waiting === undefined && this.#use(orgId, bytes)) return null;
    return new Promise((resolve) => {
      const one = { bytes, resolve };
      if (waiting) waiting.push(one);
      else this.#waiting.set(orgId, [one]);
    });
  }

  /** Returns false if the organization's share of this turn does not allow it. */
  #use(orgId: string, bytes: number): boolean {
    const used = this.#used.get(orgId) ?? 0;
    if (used > 0 && used + bytes > TURN_BYTES) return false;
    this.#callTurn();
    this.#used.set(orgId, used + bytes);
    return true;
  }

  #callTurn(): void {
    if (this.#turnIsDue) return;
    this.#turnIsDue = true;
    this.#nextTurn(() => this.#begin());
  }

  #begin(): void {
    this.#turnIsDue = false;
    this.#used.clear();
    for (const [orgId, waiting] of this.#waiting) {
      const next = waiting.findIndex(({ bytes }) => !this.#use(orgId, bytes));
      const served = waiting.splice(0, next === -1 ? waiting.length : next);
      if (waiting.length === 0) this.#waiting.delete(orgId);
      for (const { resolve } of served) resolve();
    }
  }
}
