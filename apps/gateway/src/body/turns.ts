/** No organization may have more than this part of the places to wait: one alone must not keep the others out. */
const ORG_SHARE = 1 / 4;

export interface TurnsOptions {
  /** Turns under way together. */
  readonly atOnce: number;
  /** Places to wait for a turn, over all organizations. */
  readonly maxWaiting: number;
}

interface Waiting {
  readonly begin: (got: boolean) => void;
  readonly fail: (error: Error) => void;
}

/** A few turns for many organizations: who waits gets the next one round robin, whatever the others have waiting. */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #maxWaitingOfOrg: number;
  /** Organizations that have something waiting, the next one first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #waitingCount = 0;
  #underWay = 0;
  #closed = false;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#maxWaitingOfOrg = Math.max(1, Math.floor(options.maxWaiting * ORG_SHARE));
  }

  /**
   * True: it is your turn, until you call `end`. False, at once: there is no place to wait. Before an organization's next turn
   * each of the others that wait has at most one. Rejects when closed.
   */
  async take(orgId: string): Promise<boolean> {
    const { atOnce, maxWaiting } = this.#options;
    if (this.#closed) throw new Error(CLOSED);
    if (this.#underWay < atOnce) {
      this.#underWay++;
      return true;
    }
    const ofOrg = this.#waiting.get(orgId) ?? [];
    if (this.#waitingCount === maxWaiting || ofOrg.length === this.#maxWaitingOfOrg) return false;
    this.#waiting.set(orgId, ofOrg);
    this.#waitingCount++;
    return new Promise((begin, fail) => ofOrg.push({ begin, fail }));
  }

  /** Passes the turn on. */
  end(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#underWay--;
      return;
    }
    const [orgId, ofOrg] = next;
    const first = ofOrg.shift();
    this.#waiting.delete(orgId);
    if (ofOrg.length > 0) this.#waiting.set(orgId, ofOrg);
    this.#waitingCount--;
    first?.begin(true);
  }

  /** Who waits is rejected. */
  close(): void {
    this.#closed = true;
    for (const { fail } of [...this.#waiting.values()].flat()) fail(new Error(CLOSED));
    this.#waiting.clear();
    this.#waitingCount = 0;
  }
}

const CLOSED = 'No more turns: closed';
