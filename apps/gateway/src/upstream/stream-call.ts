import type { Refusal } from '@tidegate/contracts';
import { NO_ROOM_FOR_ANSWER } from '../refusals.ts';
import type { CallOutcome } from './call-outcome.ts';
import { MODEL_FAILED } from './refused.ts';
import type { StreamRewriter } from './stream-rewriter.ts';
import { type AnswerMemory, NO_ANSWER_IN_TIME, UpstreamCall } from './upstream-call.ts';

export interface StreamTimes {
  /** From the call to the end of the answer. */
  readonly maxMs: number;
  /** From the call to the first event that is relayed. */
  readonly firstEventMs: number;
  /** Between two events. */
  readonly pauseMs: number;
}

/** Where the rewritten stream goes. */
export interface StreamSink {
  /** Called before the first write. From then on the answer is a stream. */
  begin(): void;
  /** Returns false if the reader is slow. `onDrain` is called when it has caught up. */
  write(text: string): boolean;
  /** What the reader has not taken yet. */
  readonly unsentBytes: number;
  onDrain: (() => void) | null;
}

/** How long a model may take to end its answer after its `[DONE]`. */
const LINGER_MS = 1_000;

/**
 * A call whose answer is streamed and relayed as it arrives. What the model sends in one piece is
 * passed on in one piece. While the reader is slow, the model is not read and its pauses do not
 * count.
 */
export class StreamCall extends UpstreamCall {
  readonly #rewriter: StreamRewriter;
  readonly #sink: StreamSink;
  readonly #times: StreamTimes;
  #pause: NodeJS.Timeout;
  #begun = false;
  #modelPaused = false;

  constructor(rewriter: StreamRewriter, sink: StreamSink, times: StreamTimes, memory: AnswerMemory) {
    super(times.maxMs, rewriter.upstreamKey, memory);
    this.#rewriter = rewriter;
    this.#sink = sink;
    this.#times = times;
    this.#pause = setTimeout(this.#onPause, times.firstEventMs);
    const stop = () => clearTimeout(this.#pause);
    this.outcome.then(stop, stop);
  }

  protected onBody(bytes: Buffer): void {
    const rewriter = this.#rewriter;
    const eventsBefore = rewriter.events;
    rewriter.push(bytes);
    if (this.#begun && rewriter.events > eventsBefore) this.#pause.refresh();
    const isSlow = !this.#relay();
    if (isSlow && !rewriter.done) this.#pauseModel();
    const unsentBytes = isSlow ? this.#sink.unsentBytes : 0;
    const hasRoom = this.memory.holdAnswer(rewriter.partialBytes + unsentBytes);
    if (rewriter.failure) this.#fail(rewriter.failure);
    else if (rewriter.done) this.#complete();
    else if (!hasRoom) this.#breakOff('stream_limit', NO_ROOM_FOR_ANSWER);
  }

  protected onBodyEnd(): void {
    this.#rewriter.end();
    this.#relay();
    if (this.#rewriter.failure) this.#fail(this.#rewriter.failure);
    else this.end(this.#streamed(), true);
  }

  protected onBroken(): void {
    this.#breakOff('upstream_error', MODEL_FAILED);
  }

  protected onTimeout(): void {
    this.#breakOff('stream_limit', NO_ANSWER_IN_TIME);
  }

  /** Returns false if the reader is slow. */
  #relay(): boolean {
    const out = this.#rewriter.take();
    if (!this.#rewriter.started) return true;
    if (!this.#begun) this.#begin();
    return out === '' || this.#sink.write(out);
  }

  #begin(): void {
    this.#begun = true;
    clearTimeout(this.#pause);
    this.#pause = setTimeout(this.#onPause, this.#times.pauseMs);
    this.#sink.begin();
  }

  /** Reads the rest of the answer briefly, so that the connection can be kept. */
  #complete(): void {
    this.end(this.#streamed(), true);
    setTimeout(() => this.close(), LINGER_MS).unref();
  }

  #streamed(): CallOutcome {
    const { tail, usage } = this.#rewriter;
    return { kind: 'streamed', tail, usage };
  }

  #fail(failure: Refusal): void {
    this.#breakOff(this.#rewriter.tooLarge ? 'stream_limit' : 'upstream_error', failure);
  }

  /** @param refusal the answer if the stream has not begun */
  #breakOff(errorCode: 'upstream_error' | 'stream_limit', refusal: Refusal): void {
    if (!this.#begun) {
      this.end(refusal);
      return;
    }
    this.#rewriter.breakOff();
    this.#relay();
    this.end({ kind: 'broken', errorCode });
  }

  readonly #onPause = (): void => {
    if (this.#modelPaused) this.#pause.refresh();
    else this.expire();
  };

  #pauseModel(): void {
    const controller = this.controller;
    if (!controller || this.ended) return;
    this.#modelPaused = true;
    controller.pause();
    this.#sink.onDrain = () => {
      this.#modelPaused = false;
      this.#sink.onDrain = null;
      this.#pause.refresh();
      if (this.ended) return;
      this.memory.holdAnswer(this.#rewriter.partialBytes);
      controller.resume();
    };
  }
}
