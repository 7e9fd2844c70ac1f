import type { LostGrant } from './grants.ts';
import type { LimiterCall, LimiterReply } from './session.ts';

export interface RestoresOptions {
  readonly call: (call: LimiterCall) => Promise<LimiterReply | null>;
  /** What to restore now for one organization, or for all. */
  readonly lost: (orgId?: string) => Iterable<LostGrant>;
  readonly retryMs: number;
  readonly onRestored: (lost: LostGrant, reply: LimiterReply) => void;
}

/** Far below what a limiter takes from one session, so that requests are decided meanwhile. */
const MAX_AT_ONCE = 1_000;

/** In `#asked`, these stand for what has failed and for all organizations. No id equals them. */
const FAILED = 'failed';
const ALL = 'all';

/**
 * Tells the limiter again what it granted, after it has lost its live state. A busy gateway
 * remembers tens of thousands of grants, so only a bounded number is built and sent at a time. What
 * fails is sent again until the limiter acknowledges it. Until the next attempt it keeps its place,
 * so that a limiter that fails everything immediately is not asked more often.
 */
export class Restores {
  readonly #options: RestoresOptions;
  /** The organizations whose grants have yet to be restored. */
  readonly #asked = new Set<string>();
  #round: Iterator<LostGrant> | null = null;
  /** By subject. */
  #failed = new Map<object, LostGrant>();
  #freePlaces = MAX_AT_ONCE;
  /** The places kept by what has failed since the last attempt. */
  #failedPlaces = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: RestoresOptions) {
    this.#options = options;
  }

  /** Whether anything has yet to be acknowledged. */
  get busy(): boolean {
    return this.#freePlaces < MAX_AT_ONCE || this.#failed.size > 0;
  }

  /** Restores what is held for one organization, or for all. */
  restore(orgId = ALL): void {
    if (!this.#asked.has(ALL)) this.#asked.add(orgId);
    this.#send();
  }

  /** Sends again what has failed, because a session is up or because time has passed. */
  retry(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#freePlaces += this.#failedPlaces;
    this.#failedPlaces = 0;
    if (this.#failed.size > 0) this.#asked.add(FAILED);
    this.#send();
  }

  /** Stops automatic retries. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #send(): void {
    while (this.#freePlaces > 0) {
      const lost = this.#next();
      if (!lost) return;
      void this.#try(lost);
    }
  }

  #next(): LostGrant | null {
    for (;;) {
      this.#round ??= this.#begin();
      if (!this.#round) return null;
      const { done, value } = this.#round.next();
      if (done) this.#round = null;
      else if (!value.isDropped()) return value;
    }
  }

  #begin(): Iterator<LostGrant> | null {
    const [asked] = this.#asked;
    if (asked === undefined) return null;
    this.#asked.delete(asked);
    if (asked !== FAILED) return this.#options.lost(asked === ALL ? undefined : asked)[Symbol.iterator]();
    const failed = this.#failed;
    this.#failed = new Map();
    return failed.values();
  }

  async #try(lost: LostGrant): Promise<void> {
    this.#freePlaces--;
    const reply = await this.#options.call(lost.restore);
    if (reply && !reply.failed) {
      this.#freePlaces++;
      this.#options.onRestored(lost, reply);
      this.#send();
      return;
    }
    // Keep the first attempt at it: the limiter may have carried that one out.
    if (!this.#failed.has(lost.subject)) this.#failed.set(lost.subject, lost);
    this.#failedPlaces++;
    if (!this.#stopped) this.#timer ??= setTimeout(() => this.retry(), this.#options.retryMs);
  }
}
