import { monthEndMs, monthOf } from '@tidegate/limits';
import type { Store } from './store.ts';

/** A UTC month with its bounds, as scripts take them. */
export interface Month {
  /** `YYYY-MM` */
  readonly name: string;
  readonly startUs: number;
  /** Exclusive. */
  readonly endUs: number;
}

/**
 * This process's estimate of limiter time: Redis' clock plus the tests' offset. Scripts read the
 * time themselves, so the estimate only serves for guesses that a script checks.
 */
export class LimiterClock {
  /** Added to Redis' clock, in microseconds. */
  readonly offsetUs: number;
  readonly #localMs: () => number;
  #aheadMs: number;
  #month: Month;

  constructor(offsetMs: number, localMs: () => number = Date.now) {
    this.offsetUs = offsetMs * 1_000;
    this.#localMs = localMs;
    this.#aheadMs = offsetMs;
    this.#month = monthAt(this.nowMs());
  }

  nowMs(): number {
    return this.#localMs() + this.#aheadMs;
  }

  /** Adjusts the estimate to a time reported by Redis. */
  observe(nowUs: number): void {
    this.#aheadMs = nowUs / 1_000 - this.#localMs();
    this.#month = monthAt(this.nowMs());
  }

  month(): Month {
    const nowUs = this.nowMs() * 1_000;
    if (nowUs < this.#month.startUs || nowUs >= this.#month.endUs) this.#month = monthAt(this.nowMs());
    return this.#month;
  }
}

/** Asks Redis for the time and adjusts the clock. */
export async function observeTime(store: Store, clock: LimiterClock): Promise<void> {
  const [seconds, micros] = (await store.commandAt(null, 'time')) as [string, string];
  clock.observe(Number(seconds) * 1e6 + Number(micros) + clock.offsetUs);
}

export function monthAt(ms: number): Month {
  const name = monthOf(ms);
  return { name, startUs: Date.parse(`${name}-01T00:00:00Z`) * 1_000, endUs: monthEndMs(name) * 1_000 };
}
