import {
  type Call,
  callFailure,
  type LimiterClient,
  type Notice__Output,
  type Reply__Output,
  type SessionResponse__Output,
} from '@tidegate/rpc';
import { OpenCalls } from './open-calls.ts';

/** One call as defined in `limiter.proto`. The link numbers it. */
export type LimiterCall = Omit<Call, 'callId' | 'call' | 'traceparent'> & {
  /** Undefined: the call is not traced. */
  readonly traceparent?: string | undefined;
};
export type LimiterReply = Reply__Output;

export interface LinkOptions {
  /** The first call. The link is up once `accept` approves the reply. */
  readonly hello: () => LimiterCall;
  /** @param sentMs when the call was made, by `nowMs` */
  readonly accept: (reply: LimiterReply, call: LimiterCall, sentMs: number) => 'up' | 'again' | 'failed';
  readonly onNotice: (notice: Notice__Output) => void;
  /**
   * Called when calls are open but nothing arrives. It must send a heartbeat, because a limiter
   * shows a sign of life when it gets one, even before it can answer it.
   */
  readonly onQuiet: () => void;
  readonly callTimeoutMs: number;
  /** A link is silent after this long without a message while calls are open. */
  readonly silenceMs: number;
  readonly maxOpenCalls: number;
  /** Called with each call's time to its reply, or with null if the call resolves to null. */
  readonly onCalled?: ((ms: number | null) => void) | undefined;
  /** Monotonic clock. */
  readonly nowMs: () => number;
}

interface LinkTarget {
  readonly client: LimiterClient;
  /**
   * How many links in a row ended before this one. Until this one is up, each of them doubles the
   * silence that is tolerated.
   */
  readonly failures: number;
  readonly onUp: () => void;
  /** The limiter will stop. */
  readonly onDraining: () => void;
  /** The link is up and has become silent. Its calls stay open, in case the limiter goes on. */
  readonly onSilent: () => void;
  /** Called once, also after `end`. */
  readonly onEnd: (reason: string) => void;
}

interface OpenCall {
  readonly resolve: (reply: LimiterReply | null) => void;
  readonly deadlineMs: number;
}

type SessionStream = ReturnType<LimiterClient['session']>;

const TICK_MS = 25;
/**
 * After this many silent ticks the limiter is probed, because ordinary calls may just be waiting
 * for Postgres or Redis.
 */
const QUIET_TICKS = 2;
/**
 * How much longer the limiter may be silent per open call, since its machine may be busy with other
 * work.
 */
const SILENCE_PER_CALL_MS = 2;

/**
 * One bidirectional stream to one limiter. All calls of one event-loop turn travel as one message.
 * A call on its own does not wait for the end of the turn.
 *
 * A call resolves to its reply or to null. Null means that the call could not be made, that it was
 * not answered in time, or that the link broke. The call may or may not have had its effect.
 *
 * Silence is measured in ticks of this process's own timer. So the limiter is not blamed for time
 * in which this process stands still, or runs slowly because the whole machine does.
 */
export class LimiterLink {
  readonly #options: LinkOptions & LinkTarget;
  readonly #stream: SessionStream;
  readonly #open = new OpenCalls<OpenCall>();
  #up = false;
  #retired = false;
  #ended = false;
  #batch: Call[] = [];
  /** Whether the last message contained only one call. */
  #single = true;
  #silentTicks = 0;
  #ticker: NodeJS.Timeout | undefined;

  constructor(options: LinkOptions & LinkTarget) {
    this.#options = options;
    this.#stream = options.client.session();
    this.#stream.on('data', (response: SessionResponse__Output) => this.#receive(response));
    this.#stream.on('error', (error) => this.end(callFailure(error)));
    this.#stream.on('end', () => this.end('the limiter ended the session'));
    void this.#handshake();
  }

  /**
   * Whether the limiter may have hung. Many open calls extend the silence that this takes. Never
   * true of a retired link.
   */
  get silent(): boolean {
    return this.#silentMs >= this.#maxSilenceMs();
  }

  call(call: LimiterCall): Promise<LimiterReply | null> {
    // Heartbeats are exempt: without one, the session would end with all its open calls.
    const hasRoom = this.#open.size < this.#options.maxOpenCalls || call.heartbeat;
    if (this.#up && hasRoom) return this.#send(call);
    this.#options.onCalled?.(null);
    return Promise.resolve(null);
  }

  /** The owner makes no further call. Open calls are finished, then the link ends. */
  retire(): void {
    this.#retired = true;
    this.#endIfDone();
  }

  /** Breaks off: open calls resolve to null. */
  end(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#up = false;
    this.#batch = [];
    this.#stream.cancel();
    this.#options.client.close();
    for (;;) {
      const call = this.#open.takeOldestIf(() => true);
      if (!call) break;
      this.#giveUp(call);
    }
    this.#stopTicking();
    this.#options.onEnd(reason);
  }

  #send(call: LimiterCall): Promise<LimiterReply | null> {
    const callId = this.#open.nextNumber;
    if (this.#batch.length === 0) this.#schedule();
    this.#batch.push({ callId, ...call } as Call);
    const deadlineMs = this.#options.nowMs() + this.#options.callTimeoutMs;
    this.#ticker ??= setInterval(this.#tick, TICK_MS);
    return new Promise((resolve) => {
      this.#open.add({ resolve, deadlineMs });
    });
  }

  /**
   * With only one call at a time there is nothing to batch, and waiting for the turn's end would
   * only add delay.
   */
  #schedule(): void {
    if (this.#single && this.#open.size === 0) process.nextTick(this.#flush);
    else setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    const calls = this.#batch;
    this.#batch = [];
    if (this.#ended || calls.length === 0) return;
    this.#single = calls.length === 1;
    this.#stream.write({ calls });
  };

  async #handshake(): Promise<void> {
    const { hello, accept, onUp, nowMs } = this.#options;
    for (;;) {
      const call = hello();
      const sentMs = nowMs();
      const reply = await this.#send(call);
      if (this.#ended) return;
      const verdict = reply ? accept(reply, call, sentMs) : 'failed';
      if (verdict === 'failed') return this.end('the limiter did not accept the session');
      if (verdict === 'up') break;
    }
    this.#up = true;
    onUp();
  }

  #receive({ replies, notices }: SessionResponse__Output): void {
    if (this.#ended) return;
    // A sign of life: Redis or Postgres keeps the limiter waiting.
    if (replies.length === 0) this.#silentTicks = 0;
    // Process notices first: they may invalidate cached state that handling the replies relies on.
    for (const notice of notices) {
      if (notice.draining) this.#options.onDraining();
      else this.#options.onNotice(notice);
    }
    const nowMs = this.#options.nowMs();
    for (const reply of replies) {
      if (!reply.failed) this.#silentTicks = 0;
      const call = this.#open.take(reply.callId);
      if (!call) continue;
      // Discard a late reply, for example after this process stood still. What it grants may have
      // been taken back with the lease since.
      if (call.deadlineMs <= nowMs) {
        this.#giveUp(call);
        continue;
      }
      this.#options.onCalled?.(nowMs - call.deadlineMs + this.#options.callTimeoutMs);
      call.resolve(reply);
    }
    if (this.#retired) this.#endIfDone();
  }

  #giveUp(call: OpenCall): void {
    this.#options.onCalled?.(null);
    call.resolve(null);
  }

  #endIfDone(): void {
    if (this.#open.size === 0) this.end('its calls are finished');
  }

  readonly #tick = (): void => {
    this.#expire();
    if (this.#open.size === 0) {
      this.#stopTicking();
      if (this.#retired) this.#endIfDone();
      return;
    }
    const wasSilent = this.silent;
    this.#silentTicks++;
    if (this.#up && !this.#retired && this.#silentTicks === QUIET_TICKS) this.#options.onQuiet();
    if (!this.silent) return;
    if (!this.#up || this.#silentMs >= this.#lastMs) this.end('the limiter is silent');
    else if (!wasSilent) this.#options.onSilent();
  };

  get #silentMs(): number {
    return this.#silentTicks * TICK_MS;
  }

  /** A link that is silent for this long is ended. */
  get #lastMs(): number {
    return Math.max(this.#options.silenceMs, this.#options.callTimeoutMs);
  }

  /** Stops the timer while no call is open, so that an idle process is not woken. */
  #stopTicking(): void {
    this.#silentTicks = 0;
    clearInterval(this.#ticker);
    this.#ticker = undefined;
  }

  /**
   * Grows with the number of open calls, so that a limiter that is only busy is not given up on.
   * Doubles with each failed attempt, so that a slow limiter is reached in the end.
   */
  #maxSilenceMs(): number {
    const { silenceMs, failures } = this.#options;
    // The probe goes to the link that is in use, so this one may be silent until its calls expire.
    if (this.#retired) return Number.POSITIVE_INFINITY;
    const attempts = this.#up ? 0 : failures;
    const maxMs = (silenceMs + this.#open.size * SILENCE_PER_CALL_MS) * 2 ** Math.min(attempts, 10);
    return Math.min(maxMs, this.#lastMs);
  }

  /** Fails overdue calls. `#open` is ordered by deadline. */
  #expire(): void {
    const nowMs = this.#options.nowMs();
    for (;;) {
      const call = this.#open.takeOldestIf(({ deadlineMs }) => deadlineMs <= nowMs);
      if (!call) return;
      this.#giveUp(call);
    }
  }
}
