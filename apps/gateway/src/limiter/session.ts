import type {
  Call,
  LimiterClient,
  Notice__Output,
  Reply__Output,
  SessionResponse__Output,
} from '@tidegate/rpc';

/** One call as defined in `limiter.proto`. The session numbers it. */
export type LimiterCall = Omit<Call, 'callId' | 'call'>;
export type LimiterReply = Reply__Output;

export interface SessionOptions {
  /**
   * Tried in turn, beginning with `firstAddress`. When a session breaks, the next address is tried.
   */
  readonly addresses: readonly string[];
  readonly firstAddress: number;
  readonly connect: (address: string) => LimiterClient;
  /** The first call of every session. The session is up once `accept` approves the reply. */
  readonly hello: () => LimiterCall;
  readonly accept: (reply: LimiterReply) => 'up' | 'again' | 'failed';
  readonly onUp: () => void;
  readonly onDown: () => void;
  readonly onNotice: (notice: Notice__Output) => void;
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void };
  /**
   * Called when calls are open but no replies arrive. It must make a call that needs only the
   * limiter and its state.
   */
  readonly onQuiet: () => void;
  readonly callTimeoutMs: number;
  /**
   * A session is given up if it is silent for this long while calls are open. Many open calls
   * extend the time.
   */
  readonly silenceMs: number;
  readonly reconnectMs: number;
  readonly maxOpenCalls: number;
  /** Called with the time each call took to its reply, or null if it resolves to null. */
  readonly onCalled?: ((ms: number | null) => void) | undefined;
  /** Monotonic clock. */
  readonly nowMs: () => number;
}

interface OpenCall {
  readonly resolve: (reply: LimiterReply | null) => void;
  readonly deadlineMs: number;
}

type Stream = ReturnType<LimiterClient['session']>;

const TICK_MS = 25;
/**
 * After this many silent ticks the limiter is probed, because an ordinary call may just be waiting
 * for Postgres.
 */
const QUIET_TICKS = 2;
/**
 * How much longer the limiter may be silent per open call, since its machine may be busy with other
 * work.
 */
const SILENCE_PER_CALL_MS = 2;

/**
 * The one bidirectional stream between this process and a limiter. All calls of one event-loop turn
 * travel as one message. A call on its own does not wait for the end of the turn.
 *
 * A call resolves to its reply or to null. Null means that the limiter could not be asked, did not
 * answer in time, or that the session broke. The call may or may not have had its effect. While no
 * session is up, calls resolve to null at once.
 *
 * Silence is measured in ticks of this process's own timer. So the limiter is not blamed for time
 * in which this process stands still, or runs slowly because the whole machine does.
 */
export class LimiterSession {
  readonly #options: SessionOptions;
  readonly #open = new Map<number, OpenCall>();
  #client: LimiterClient | null = null;
  #stream: Stream | null = null;
  #up = false;
  #stopped = false;
  #batch: Call[] = [];
  /** The last message contained one call. */
  #single = true;
  #lastCallId = 0;
  #attempts = 0;
  /** Attempts since a session was last up. */
  #failures = 0;
  #silentTicks = 0;
  #ticker: NodeJS.Timeout | undefined;
  #reconnect: NodeJS.Timeout | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  get up(): boolean {
    return this.#up;
  }

  start(): void {
    this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#reconnect);
    this.#disconnect('stopped');
  }

  call(call: LimiterCall): Promise<LimiterReply | null> {
    if (this.#up && this.#open.size < this.#options.maxOpenCalls) return this.#send(call);
    this.#options.onCalled?.(null);
    return Promise.resolve(null);
  }

  /** Gives up this session and connects to the next limiter. */
  reset(reason: string): void {
    if (this.#stream) this.#disconnect(reason);
  }

  #send(call: LimiterCall): Promise<LimiterReply | null> {
    this.#lastCallId = (this.#lastCallId + 1) >>> 0;
    const callId = this.#lastCallId;
    if (this.#batch.length === 0) this.#schedule();
    this.#batch.push({ callId, ...call });
    const deadlineMs = this.#options.nowMs() + this.#options.callTimeoutMs;
    this.#ticker ??= setInterval(this.#tick, TICK_MS);
    return new Promise((resolve) => {
      this.#open.set(callId, { resolve, deadlineMs });
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
    if (!this.#stream || calls.length === 0) return;
    this.#single = calls.length === 1;
    this.#stream.write({ calls });
  };

  #connect(): void {
    const { addresses, firstAddress, connect } = this.#options;
    const address = addresses[(firstAddress + this.#attempts++) % addresses.length] as string;
    this.#client = connect(address);
    const stream = this.#client.session();
    this.#stream = stream;
    const disconnected = (reason: string) => {
      if (this.#stream === stream) this.#disconnect(reason);
    };
    stream.on('data', (response: SessionResponse__Output) => {
      if (this.#stream === stream) this.#receive(response);
    });
    stream.on('error', (error) => disconnected(error.message));
    stream.on('end', () => disconnected('the limiter ended the session'));
    void this.#handshake(stream, address);
  }

  async #handshake(stream: Stream, address: string): Promise<void> {
    const { hello, accept, onUp, log } = this.#options;
    for (;;) {
      const reply = await this.#send(hello());
      if (this.#stream !== stream) return;
      const verdict = reply ? accept(reply) : 'failed';
      if (verdict === 'failed') return this.#disconnect('the limiter did not accept the session');
      if (verdict === 'up') break;
    }
    this.#up = true;
    this.#failures = 0;
    log.info({ address }, 'limiter session is up');
    onUp();
  }

  #receive({ replies, notices }: SessionResponse__Output): void {
    // Process notices first: they may invalidate cached state that handling the replies relies on.
    for (const notice of notices) this.#options.onNotice(notice);
    const nowMs = this.#options.nowMs();
    for (const reply of replies) {
      if (!reply.failed) this.#silentTicks = 0;
      const call = this.#open.get(reply.callId);
      if (!call) continue;
      this.#open.delete(reply.callId);
      // Discard a late reply, for example after this process stood still. What it grants may have
      // been taken back with the lease since.
      if (call.deadlineMs <= nowMs) {
        this.#giveUp(call);
        continue;
      }
      this.#options.onCalled?.(nowMs - call.deadlineMs + this.#options.callTimeoutMs);
      call.resolve(reply);
    }
  }

  #giveUp(call: OpenCall): void {
    this.#options.onCalled?.(null);
    call.resolve(null);
  }

  #disconnect(reason: string): void {
    const wasUp = this.#up;
    const [stream, client] = [this.#stream, this.#client];
    this.#up = false;
    this.#stream = null;
    this.#client = null;
    this.#batch = [];
    stream?.on('error', () => {});
    stream?.cancel();
    client?.close();
    for (const call of this.#open.values()) this.#giveUp(call);
    this.#open.clear();
    this.#stopTicking();
    if (wasUp) {
      this.#options.log.warn({ reason }, 'limiter session is down');
      this.#options.onDown();
    } else if (this.#failures === 1 && !this.#stopped) {
      this.#options.log.warn({ reason }, 'cannot open a limiter session');
    }
    // Reconnect at once after a session that worked: the next limiter may be healthy.
    const pauseMs = this.#failures++ === 0 ? 0 : this.#options.reconnectMs;
    if (!this.#stopped) this.#reconnect = setTimeout(() => this.#connect(), pauseMs);
  }

  readonly #tick = (): void => {
    this.#expire();
    if (this.#open.size === 0) {
      this.#stopTicking();
      return;
    }
    this.#silentTicks++;
    if (this.#up && this.#silentTicks === QUIET_TICKS) this.#options.onQuiet();
    if (this.#silentTicks * TICK_MS >= this.#maxSilenceMs()) this.reset('the limiter is silent');
  };

  /** Stops the timer while no call is open, so that an idle process is not woken. */
  #stopTicking(): void {
    this.#silentTicks = 0;
    clearInterval(this.#ticker);
    this.#ticker = undefined;
  }

  /**
   * Grows with the number of open calls, so that a limiter that is only busy is not given up.
   * Doubles with each failed attempt, so that a slow limiter is reached in the end.
   */
  #maxSilenceMs(): number {
    const { silenceMs, callTimeoutMs } = this.#options;
    const maxMs = (silenceMs + this.#open.size * SILENCE_PER_CALL_MS) * 2 ** Math.min(this.#failures, 10);
    return Math.min(maxMs, Math.max(silenceMs, callTimeoutMs));
  }

  /** Fails overdue calls. `#open` is ordered by deadline. */
  #expire(): void {
    const nowMs = this.#options.nowMs();
    for (const [callId, call] of this.#open) {
      if (call.deadlineMs > nowMs) return;
      this.#open.delete(callId);
      this.#giveUp(call);
    }
  }
}
