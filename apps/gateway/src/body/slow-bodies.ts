const PERIOD_MS = 1_000;
/** The time that one organization's slow bodies may take on this thread per period. */
const BUDGET_MS = 20;
/**
 * The most that one body counts for, because the measured time may include a pause of the process.
 * The worst body for this thread takes 1 ms.
 */
const MOST_MS = 1;

interface Spent {
  readonly sinceMs: number;
  ms: number;
}

/** Adds up how long the slow bodies of each organization took in the last second. */
export class SlowBodies {
  readonly #nowMs: () => number;
  /** By organization. The window that began first comes first. */
  readonly #spent = new Map<string, Spent>();

  /** @param nowMs a monotonic clock in ms */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  add(orgId: string, ms: number): void {
    const nowMs = this.#nowMs();
    for (const [one, { sinceMs }] of this.#spent) {
      if (nowMs - sinceMs < PERIOD_MS) break;
      this.#spent.delete(one);
    }
    const spent = this.#spent.get(orgId) ?? { sinceMs: nowMs, ms: 0 };
    spent.ms += Math.min(MOST_MS, ms);
    this.#spent.set(orgId, spent);
  }

  isOverBudget(orgId: string): boolean {
    const spent = this.#spent.get(orgId);
    return spent !== undefined && spent.ms >= BUDGET_MS && this.#nowMs() - spent.sinceMs < PERIOD_MS;
  }
}
