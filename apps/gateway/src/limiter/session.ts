import type {
  Call,
  LimiterClient,
  Notice__Output,
  Reply__Output,
  SessionResponse__Output,
} from '@tidegate/rpc';

/** One call as `limiter.proto` has it; the session numbers it. */
export type LimiterCall = Omit<Call, 'callId' | 'call'>;
export type LimiterReply = Reply__Output;

export interface SessionOptions {
  /** Tried in turn, beginning with `firstAddress`; a fallen session goes on to the next. */
  readonly addresses: readonly string[];
  readonly firstAddress: number;
  readonly connect: (address: string) => LimiterClient;
  /** The first call of every session; the session is up once `accept` likes its reply. */
  readonly hello: () => LimiterCall;
  readonly accept: (reply: LimiterReply) => 'up' | 'again' | 'failed';
  readonly onUp: () => void;
  readonly onDown: () => void;
  readonly onNotice: (notice: Notice__Output) => void;
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void };
  /** There are open calls and no replies: to be answered with a call that needs nothing but the limiter and its state. */
  readonly onQuiet: () => void;
  readonly callTimeoutMs: number;
  /** A session that is silent for so long while calls are open is given up; many open calls prolong it. */
  readonly silenceMs: number;
  readonly reconnectMs: number;
  readonly maxOpenCalls: number;
  /** Monotonic. */
  readonly nowMs: () => number;
}

interface OpenCall {
  readonly resolve: (reply: LimiterReply | null) => void;
  readonly deadlineMs: number;
}

type Stream = ReturnType<LimiterClient['session']>;

const TICK_MS = 25;
/** Quiet for so long, the limiter is asked whether it is there: a single call may wait for Postgres. */
const QUIET_TICKS = 2;
/** What a call may take of a limiter on a machine that is busy with other things, too. */
const PATIENCE_PER_CALL_MS = 2;

/**
 * The one bidirectional stream between this process and a limiter. All calls of an event-loop turn travel as one message.
 *
 * A call ends in its reply or in null: the limiter could not be asked, did not answer in time, or the session broke. After
 * null it is unknown whether the call had its effect. While no session is up, calls end in null at once.
 *
 * Silence is counted in ticks of this process's own timer: the time in which it stands still itself, or runs slowly because the whole
 * machine does, is not held against the limiter.
 */
export class LimiterSession {
  readonly #options: SessionOptions;
  readonly #open = new Map<number, OpenCall>();
  #client: LimiterClient | null = null;
  #stream: Stream | null = null;
  #up = false;
  #stopped = false;
  #batch: Call[] = [];
  #lastCallId = 0;
  #attempts = 0;
  /** Attempts since a session was up. */
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
    this.#fall('stopped');
  }

  call(call: LimiterCall): Promise<LimiterReply | null> {
    if (!this.#up || this.#open.size >= this.#options.maxOpenCalls) return Promise.resolve(null);
    return this.#send(call);
  }

  /** Gives this session up and connects to the next limiter. */
  reset(reason: string): void {
    if (this.#stream) this.#fall(reason);
  }

  #send(call: LimiterCall): Promise<LimiterReply | null> {
    this.#lastCallId = (this.#lastCallId + 1) >>> 0;
    const callId = this.#lastCallId;
    if (this.#batch.length === 0) setImmediate(this.#flush);
    this.#batch.push({ callId, ...call });
    const deadlineMs = this.#options.nowMs() + this.#options.callTimeoutMs;
    this.#ticker ??= setInterval(this.#tick, TICK_MS);
    return new Promise((resolve) => {
      this.#open.set(callId, { resolve, deadlineMs });
    });
  }

  readonly #flush = (): void => {
    const calls = this.#batch;
    this.#batch = [];
    if (this.#stream && calls.length > 0) this.#stream.write({ calls });
  };

  #connect(): void {
    const { addresses, firstAddress, connect } = this.#options;
    const address = addresses[(firstAddress + this.#attempts++) % addresses.length] as string;
    this.#client = connect(address);
    const stream = this.#client.session();
    this.#stream = stream;
    const fell = (reason: string) => {
      if (this.#stream === stream) this.#fall(reason);
    };
    stream.on('data', (response: SessionResponse__Output) => {
      if (this.#stream === stream) this.#receive(response);
    });
    stream.on('error', (error) => fell(error.message));
    stream.on('end', () => fell('the limiter ended the session'));
    void this.#greet(stream, address);
  }

  async #greet(stream: Stream, address: string): Promise<void> {
    const { hello, accept, onUp, log } = this.#options;
    for (;;) {
      const reply = await this.#send(hello());
      if (this.#stream !== stream) return;
      const verdict = reply ? accept(reply) : 'failed';
      if (verdict === 'failed') return this.#fall('the limiter did not accept the session');
      if (verdict === 'up') break;
    }
    this.#up = true;
    this.#failures = 0;
    log.info({ address }, 'limiter session up');
    onUp();
  }

  #receive({ replies, notices }: SessionResponse__Output): void {
    // Notices first: a reply must not be acted on with what a notice beside it has made stale.
    for (const notice of notices) this.#options.onNotice(notice);
    const nowMs = this.#options.nowMs();
    for (const reply of replies) {
      if (!reply.failed) this.#silentTicks = 0;
      const call = this.#open.get(reply.callId);
      if (!call) continue;
      this.#open.delete(reply.callId);
      // Late, as after a standstill of this process: what it grants may have been taken back since, with the lease.
      call.resolve(call.deadlineMs > nowMs ? reply : null);
    }
  }

  #fall(reason: string): void {
    const wasUp = this.#up;
    const [stream, client] = [this.#stream, this.#client];
    this.#up = false;
    this.#stream = null;
    this.#client = null;
    this.#batch = [];
    stream?.on('error', () => {});
    stream?.cancel();
    client?.close();
    for (const call of this.#open.values()) call.resolve(null);
    this.#open.clear();
    this.#stopTicking();
    if (wasUp) {
      this.#options.log.warn({ reason }, 'limiter session down');
      this.#options.onDown();
    }
    // At once after a session that worked: the next limiter may be well.
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
    if (this.#silentTicks * TICK_MS >= this.#patienceMs()) this.reset('the limiter is silent');
  };

  /** Nothing is waited for: a process at rest is not woken. */
  #stopTicking(): void {
    this.#silentTicks = 0;
    clearInterval(this.#ticker);
    this.#ticker = undefined;
  }

  /**
   * Longer the more is asked at once, and with every attempt that fails, so that a limiter that is merely busy or slow is not given
   * up, or is reached in the end.
   */
  #patienceMs(): number {
    const { silenceMs, callTimeoutMs } = this.#options;
    const patienceMs =
      (silenceMs + this.#open.size * PATIENCE_PER_CALL_MS) * 2 ** Math.min(this.#failures, 10);
    return Math.min(patienceMs, Math.max(silenceMs, callTimeoutMs));
  }

  /** Calls are kept in the order of their deadlines. */
  #expire(): void {
    const nowMs = this.#options.nowMs();
    for (const [callId, call] of this.#open) {
      if (call.deadlineMs > nowMs) return;
      this.#open.delete(callId);
      call.resolve(null);
    }
  }
}
