/** What one organization may parse in a turn of the event loop: this much, or one larger body. */
const TURN_BYTES = 16 * 1024;
/** A body that takes less costs no more than the rest of a tiny request. */
const LONG_MS = 0.25;
/** After a long body an organization rests this many times as long: it gets a third of the time. */
const REST = 2;
/** A pause of the process may have come between. */
const MAX_REST_MS = 10;

interface Waiting {
  readonly bytes: number;
  readonly resolve: () => void;
}

export interface LoopClock {
  /** Calls back once, in the next turn of the event loop. */
  readonly nextTurn: (callback: () => void) => unknown;
  readonly after: (callback: () => void, ms: number) => unknown;
}

/**
 * Shares the main thread's time for parsing. Whatever one organization sends, the others wait no
 * longer than for its share of a turn, and two thirds of the time are theirs.
 */
export class LoopTurns {
  readonly #clock: LoopClock;
  /** Bytes parsed in this turn, by organization. */
  readonly #parsed = new Map<string, number>();
  readonly #resting = new Set<string>();
  readonly #waiting = new Map<string, Waiting[]>();
  #turnIsDue = false;

  constructor(clock: LoopClock = { nextTurn: setImmediate, after: setTimeout }) {
    this.#clock = clock;
  }

  /**
   * Returns null if the caller may parse its body at once. Otherwise the promise resolves when it
   * may. The caller bounds how many wait.
   */
  take(orgId: string, bytes: number): Promise<void> | null {
    const waiting = this.#waiting.get(orgId);
    if (waiting === undefined && this.#parse(orgId, bytes)) return null;
    return new Promise((resolve) => {
      const one = { bytes, resolve };
      if (waiting) waiting.push(one);
      else this.#waiting.set(orgId, [one]);
    });
  }

  /** Tells how long a body held up the main thread. */
  took(orgId: string, ms: number): void {
    if (ms < LONG_MS || this.#resting.has(orgId)) return;
    this.#resting.add(orgId);
    const wake = () => {
      this.#resting.delete(orgId);
      if (this.#waiting.has(orgId)) this.#callTurn();
    };
    this.#clock.after(wake, Math.min(MAX_REST_MS, Math.ceil(ms * REST)));
  }

  /** Returns false if the organization rests, or if its share of this turn does not allow it. */
  #parse(orgId: string, bytes: number): boolean {
    const parsed = this.#parsed.get(orgId) ?? 0;
    if (this.#resting.has(orgId) || (parsed > 0 && parsed + bytes > TURN_BYTES)) return false;
    this.#callTurn();
    this.#parsed.set(orgId, parsed + bytes);
    return true;
  }

  #callTurn(): void {
    if (this.#turnIsDue) return;
    this.#turnIsDue = true;
    this.#clock.nextTurn(() => this.#begin());
  }

  #begin(): void {
    this.#turnIsDue = false;
    this.#parsed.clear();
    for (const [orgId, waiting] of this.#waiting) {
      const next = waiting.findIndex(({ bytes }) => !this.#parse(orgId, bytes));
      const served = waiting.splice(0, next === -1 ? waiting.length : next);
      if (waiting.length === 0) this.#waiting.delete(orgId);
      for (const { resolve } of served) resolve();
    }
  }
}
