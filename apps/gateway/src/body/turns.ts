/**
 * The largest share of the waiting places one organization may have, so that it cannot lock out the
 * others.
 */
const ORG_SHARE = 1 / 4;

export interface TurnsOptions {
  /** How many turns may be in progress at once. */
  readonly atOnce: number;
  /** How many callers of all organizations may wait for a turn. */
  readonly maxWaiting: number;
}

interface Waiting {
  readonly begin: (got: boolean) => void;
  readonly fail: (error: Error) => void;
}

/**
 * Shares a few turns among many organizations. Waiting organizations are served round robin,
 * however many callers each has waiting.
 */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #maxWaitingOfOrg: number;
  /** Callers waiting, by organization. The organization to be served next comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #waitingCount = 0;
  #underWay = 0;
  #closed = false;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#maxWaitingOfOrg = Math.max(1, Math.floor(options.maxWaiting * ORG_SHARE));
  }

  /**
   * Resolves to true when it is the caller's turn, which lasts until the caller calls `end`.
   * Resolves to false at once if there is no place to wait. Between two turns of a waiting
   * organization, every other organization gets at most one. Rejects once closed.
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

  /** Passes the turn on to the next waiting caller. */
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

  /** Rejects everyone who is waiting. */
  close(): void {
    this.#closed = true;
    for (const { fail } of [...this.#waiting.values()].flat()) fail(new Error(CLOSED));
    this.#waiting.clear();
    this.#waitingCount = 0;
  }
}

const CLOSED = 'No more turns: closed';
