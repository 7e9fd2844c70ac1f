import type { LimiterCall, LimiterReply } from './session.ts';

export interface OutboxOptions {
  readonly call: (call: LimiterCall) => Promise<LimiterReply | null>;
  readonly retryMs: number;
  /** How long a sender waits for the acknowledgement. */
  readonly waitMs: number;
}

interface Entry {
  readonly instanceId: string;
  readonly call: LimiterCall;
  readonly resolve: () => void;
  readonly onReply: (reply: LimiterReply) => void;
  readonly timer: NodeJS.Timeout;
  sending: boolean;
}

const RETRIES_PER_TURN = 1_000;

/**
 * Calls that must reach the limiter however often it takes: settlements, withdrawals, released large bodies, what is restored. All
 * are idempotent. Each request adds at most three, and after each loss of live state two for what was granted before; requests are refused
 * while `size` is past the gateway's bound, so it cannot grow without one.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #entries = new Set<Entry>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Calls not acknowledged yet. */
  get size(): number {
    return this.#entries.size;
  }

  start(): void {
    this.#timer = setInterval(() => this.retry(), this.#options.retryMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Resolves once the limiter has acknowledged the call, or after `waitMs`: then it is retried in the background. */
  send(
    instanceId: string,
    call: LimiterCall,
    onReply: (reply: LimiterReply) => void = () => {},
  ): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#options.waitMs);
      const entry = { instanceId, call, resolve, onReply, timer, sending: false };
      this.#entries.add(entry);
      void this.#try(entry);
    });
  }

  /** Tries again what was not acknowledged: a new session is up, or time has passed. */
  retry(): void {
    let left = RETRIES_PER_TURN;
    for (const entry of this.#entries) {
      if (entry.sending) continue;
      void this.#try(entry);
      if (--left === 0) return;
    }
  }

  /** The limiter has settled all that this instance held. */
  forget(instanceId: string): void {
    for (const entry of this.#entries) if (entry.instanceId === instanceId) this.#finish(entry);
  }

  async #try(entry: Entry): Promise<void> {
    entry.sending = true;
    const reply = await this.#options.call(entry.call);
    entry.sending = false;
    if (!this.#entries.has(entry)) return;
    if (!reply || reply.failed) {
      // To the end: what fails again and again keeps nothing else from being tried.
      this.#entries.delete(entry);
      this.#entries.add(entry);
      return;
    }
    this.#finish(entry);
    entry.onReply(reply);
  }

  #finish(entry: Entry): void {
    this.#entries.delete(entry);
    clearTimeout(entry.timer);
    entry.resolve();
  }
}
