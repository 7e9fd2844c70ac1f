import { type Linked, LinkedList } from '../linked-list.ts';
import type { LimiterCall, LimiterReply } from './session.ts';

export interface UnacknowledgedOptions {
  readonly call: (call: LimiterCall) => Promise<LimiterReply | null>;
  readonly retryMs: number;
  /** How long a sender waits for the acknowledgement. */
  readonly waitMs: number;
}

interface UnacknowledgedCall extends Linked<UnacknowledgedCall> {
  readonly instanceId: string;
  readonly call: LimiterCall;
  readonly resolve: () => void;
  readonly onReply: (reply: LimiterReply) => void;
  readonly timer: NodeJS.Timeout;
  sending: boolean;
}

const MAX_PER_RETRY = 1_000;

/**
 * Calls that must reach the limiter, however many attempts it takes: settlements, withdrawals,
 * releases of large bodies. All are idempotent. Each request adds at most three, and two more if
 * live state is lost meanwhile. Requests are refused while `size` exceeds the gateway's bound,
 * which bounds this set.
 */
export class Unacknowledged {
  readonly #options: UnacknowledgedOptions;
  readonly #entries = new LinkedList<UnacknowledgedCall>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: UnacknowledgedOptions) {
    this.#options = options;
  }

  /** Calls not yet acknowledged. */
  get size(): number {
    return this.#entries.size;
  }

  /** Stops automatic retries. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /**
   * Resolves once the limiter has acknowledged the call, or after `waitMs`. After that, retries
   * continue in the background.
   */
  send(
    instanceId: string,
    call: LimiterCall,
    onReply: (reply: LimiterReply) => void = () => {},
  ): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#options.waitMs);
      const entry: UnacknowledgedCall = {
        instanceId,
        call,
        resolve,
        onReply,
        timer,
        sending: false,
        previous: null,
        next: null,
        listed: false,
      };
      this.#entries.add(entry);
      void this.#try(entry);
    });
  }

  /**
   * Retries unacknowledged calls, either because a new session is up or because time has passed.
   */
  retry(): void {
    let left = MAX_PER_RETRY;
    for (const entry of this.#entries) {
      if (entry.sending) continue;
      void this.#try(entry);
      if (--left > 0) continue;
      this.#retryLater();
      return;
    }
  }

  /** Sets the timer only when needed, so that an idle process is not woken. */
  #retryLater(): void {
    if (this.#stopped) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.retry();
    }, this.#options.retryMs);
  }

  /** The limiter has settled everything that this instance held. */
  forget(instanceId: string): void {
    for (const entry of this.#entries) if (entry.instanceId === instanceId) this.#finish(entry);
  }

  async #try(entry: UnacknowledgedCall): Promise<void> {
    entry.sending = true;
    const reply = await this.#options.call(entry.call);
    entry.sending = false;
    if (!entry.listed) return;
    if (!reply || reply.failed) {
      // Move it to the end, so that a call that keeps failing does not hold up the others.
      this.#entries.delete(entry);
      this.#entries.add(entry);
      this.#retryLater();
      return;
    }
    this.#finish(entry);
    entry.onReply(reply);
  }

  #finish(entry: UnacknowledgedCall): void {
    this.#entries.delete(entry);
    clearTimeout(entry.timer);
    entry.resolve();
  }
}
