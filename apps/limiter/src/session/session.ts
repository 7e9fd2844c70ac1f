import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { Call__Output, Notice, Reply, SessionRequest__Output, SessionResponse } from '@tidegate/rpc';
import { LimiterError } from '../limiter-error.ts';
import type { ReplyContent } from './dispatch.ts';

export type SessionStream = ServerDuplexStream<SessionRequest__Output, SessionResponse>;

export interface SessionOptions {
  readonly stream: SessionStream;
  readonly dispatch: (call: Call__Output) => Promise<ReplyContent>;
  /** How many calls may await replies. Calls beyond that fail immediately, except heartbeats. */
  readonly maxOpenCalls: number;
  readonly onFailed: (error: unknown, call: Call__Output) => void;
  readonly onClosed: () => void;
}

/**
 * One gateway's session. The calls of a message start together, so that they share a pipeline.
 * Replies that are decided together, by one read from Redis, travel as one message. If a gateway
 * does not read its replies, the session stops reading its calls.
 */
export class Session {
  readonly #options: SessionOptions;
  #replies: Reply[] = [];
  #notices: Notice[] = [];
  #open = 0;
  #scheduled = false;
  /** A sign of life is due. */
  #signDue = false;
  #ending = false;
  #closed = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { stream } = options;
    stream.on('data', (request: SessionRequest__Output) => this.#onRequest(request));
    stream.on('drain', () => stream.resume());
    stream.on('end', () => this.end());
    stream.on('cancelled', () => this.#close());
    stream.on('error', () => this.#close());
    stream.on('close', () => this.#close());
  }

  get openCalls(): number {
    return this.#open;
  }

  notify(notice: Notice): void {
    this.#notices.push(notice);
    this.#schedule();
  }

  /** Answers open calls, then ends the stream. */
  end(): void {
    this.#ending = true;
    this.#schedule();
  }

  #onRequest(request: SessionRequest__Output): void {
    const isWaiting = this.#open > 0;
    for (const call of request.calls) {
      if (isWaiting && call.heartbeat) this.#showLife();
      // Without its heartbeats, the gateway would lose its lease.
      if (this.#open >= this.#options.maxOpenCalls && !call.heartbeat) {
        this.#fail(
          call,
          new LimiterError('overloaded', 'too many open calls in the session', { notRun: true }),
        );
        continue;
      }
      this.#open++;
      this.#options.dispatch(call).then(
        (outcome) => this.#reply(call.callId, outcome),
        (error: unknown) => {
          this.#open--;
          this.#fail(call, error);
        },
      );
    }
  }

  /**
   * Tells a gateway that hears nothing, and therefore sends a heartbeat, that calls wait for Redis
   * or Postgres. Otherwise the gateway would take this limiter for hung when Redis stands still for
   * a moment.
   */
  #showLife(): void {
    this.#signDue = true;
    this.#schedule();
  }

  #reply(callId: number, outcome: ReplyContent): void {
    this.#open--;
    (outcome as Reply).callId = callId;
    this.#replies.push(outcome);
    this.#schedule();
  }

  #fail(call: Call__Output, error: unknown): void {
    const { callId } = call;
    this.#options.onFailed(error, call);
    const failed =
      error instanceof LimiterError
        ? { reason: error.message, notRun: error.notRun }
        : { reason: 'internal error' };
    this.#replies.push({ callId, failed });
    this.#schedule();
  }

  /**
   * Sends after the promises of the current callback are done, and so with all of its replies.
   * HTTP/2 writes to its socket at the end of the event-loop turn. What reaches it later than that,
   * for example with `setImmediate`, waits for a whole further turn.
   */
  #schedule(): void {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    process.nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#closed) return;
    const { stream } = this.#options;
    if (this.#replies.length > 0 || this.#notices.length > 0 || this.#signDue) {
      const message = { replies: this.#replies, notices: this.#notices };
      this.#replies = [];
      this.#notices = [];
      this.#signDue = false;
      if (!stream.write(message)) stream.pause();
    }
    if (this.#ending && this.#open === 0) {
      stream.end();
      this.#close();
    }
  };

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#options.onClosed();
  }
}
