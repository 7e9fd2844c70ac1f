interface Waiting {
  readonly amount: number;
  readonly resolve: () => void;
}

/**
 * Shares the main thread's time among owners. However much one owner has to do, the others wait at
 * most for its share of one turn of the event loop.
 */
export class LoopTurns {
  readonly #share: number;
  readonly #nextTurn: (callback: () => void) => unknown;
  /** The amounts used in this turn, by owner. */
  readonly #used = new Map<string, number>();
  readonly #waiting = new Map<string, Waiting[]>();
  #turnIsDue = false;

  /**
   * @param share what an owner may use in a turn: this much, or one larger amount
   * @param nextTurn calls back once, in the next turn of the event loop
   */
  constructor(share: number, nextTurn: (callback: () => void) => unknown = setImmediate) {
    this.#share = share;
    this.#nextTurn = nextTurn;
  }

  /**
   * Returns null if the caller may continue immediately. Otherwise the promise resolves when it
   * may. The caller bounds how many wait.
   */
  take(owner: string, amount: number): Promise<void> | null {
    const waiting = this.#waiting.get(owner);
    if (waiting === undefined && this.#use(owner, amount)) return null;
    return new Promise((resolve) => {
      const one = { amount, resolve };
      if (waiting) waiting.push(one);
      else this.#waiting.set(owner, [one]);
    });
  }

  /** Returns false if the owner's share of this turn does not allow it. */
  #use(owner: string, amount: number): boolean {
    const used = this.#used.get(owner) ?? 0;
    if (used > 0 && used + amount > this.#share) return false;
    this.#callTurn();
    this.#used.set(owner, used + amount);
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
    for (const [owner, waiting] of this.#waiting) {
      const next = waiting.findIndex(({ amount }) => !this.#use(owner, amount));
      const served = waiting.splice(0, next === -1 ? waiting.length : next);
      if (waiting.length === 0) this.#waiting.delete(owner);
      for (const { resolve } of served) resolve();
    }
  }
}
