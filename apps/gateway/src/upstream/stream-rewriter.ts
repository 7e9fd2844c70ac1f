import type { Refusal } from '@tidegate/contracts';
import { type AnswerIdentity, answerIn, RECEIVED_PER_RELAYED } from './answer.ts';
import { EventReader } from './event-reader.ts';
import { ENDED_EARLY, isErrorEvent, refusalOfErrorEvent, TOO_LARGE, UNREADABLE } from './refused.ts';
import { SseParser } from './sse-parser.ts';
import {
  type AnswerUsage,
  type FinishReason,
  finishReason,
  isCutOff,
  usageJson,
  validUsage,
} from './usage.ts';

export interface StreamOptions {
  /** Limit for everything that is relayed, including `[DONE]`. */
  readonly maxBytes: number;
  /** Limit for one relayed event, including its blank line. */
  readonly maxEventBytes: number;
  /** Whether the client asked for the usage chunk. */
  readonly includeUsage: boolean;
  /** The key that the model is called with. Never quoted to the caller. Empty for none. */
  readonly upstreamKey: string;
}

interface UpstreamChoice {
  readonly index?: unknown;
  readonly delta?: { readonly content?: unknown } | null;
  readonly finish_reason?: unknown;
}

interface UpstreamChunk {
  readonly choices?: readonly UpstreamChoice[] | null;
  readonly usage?: unknown;
}

const DONE = '[DONE]';
/** An empty piece of text, as JSON. */
const EMPTY = '""';
const chunkEnd = (reason: string): string => `},"logprobs":null,"finish_reason":${reason}}]}\n\n`;
const NOT_FINISHED = chunkEnd('null');
const FINISHED = { stop: chunkEnd('"stop"'), length: chunkEnd('"length"') };

/**
 * Turns the bytes of a model's stream into the contract's chunks (docs/conformance.md,
 * "Stream chunk"): first a chunk with the role and empty content, then one for each piece of text.
 * The last one has the finish reason. Some models send text after their finish reason. So from then
 * on the last piece is held back until the model has ended its answer.
 */
export class StreamRewriter {
  /**
   * True once the first event has been understood. From then on the answer is a stream. Before
   * that, nothing may be sent.
   */
  started = false;
  /** True once the answer is complete. All of it except `tail` is then available from `take`. */
  done = false;
  /** Why the stream cannot continue. What was taken before remains valid. */
  failure: Refusal | null = null;
  /** Whether the failure is an exceeded limit. */
  tooLarge = false;
  usage: AnswerUsage | null = null;
  /**
   * What follows the last content chunk once the answer is done and settled: the usage, if asked
   * for, and `[DONE]`.
   */
  tail = '';

  readonly #identity: AnswerIdentity;
  readonly #options: StreamOptions;
  readonly #parser: SseParser;
  readonly #reader = new EventReader();
  readonly #head: string;
  readonly #contentHead: string;
  readonly #contentHeadBytes: number;
  /** Null until the model has finished. */
  #reason: FinishReason | null = null;
  /** The latest piece of text since the finish reason, as JSON, held back. */
  #lastPiece = EMPTY;
  #out = '';
  #bytesIn = 0;
  #bytesOut = 0;
  #events = 0;

  constructor(identity: AnswerIdentity, options: StreamOptions) {
    const { completionId, createdS, model } = identity;
    this.#identity = identity;
    this.#options = options;
    this.#parser = new SseParser(RECEIVED_PER_RELAYED * options.maxEventBytes, this.#onData);
    this.#head = `data: {"id":"${completionId}","object":"chat.completion.chunk","created":${createdS},"model":${JSON.stringify(model)},"choices":[`;
    this.#contentHead = `${this.#head}{"index":0,"delta":{"content":`;
    this.#contentHeadBytes = Buffer.byteLength(this.#contentHead);
  }

  get upstreamKey(): string {
    return this.#options.upstreamKey;
  }

  /** How much is kept that cannot be relayed yet: an event that is not complete, the last piece. */
  get partialBytes(): number {
    return this.#parser.partialBytes + this.#lastPiece.length;
  }

  /** Events understood so far. A stream that sends bytes but no events counts as silent. */
  get events(): number {
    return this.#events;
  }

  /** Processes more bytes. `take` returns the resulting chunks, the other members the state. */
  push(bytes: Buffer): void {
    if (this.failure || this.done) return;
    this.#bytesIn += bytes.length;
    if (this.#bytesIn > RECEIVED_PER_RELAYED * this.#options.maxBytes) this.#failTooLarge();
    else if (!this.#parser.push(bytes)) this.#failTooLarge();
  }

  /** The model ended its stream. A missing `[DONE]` after a finish reason is tolerated. */
  end(): void {
    if (this.failure || this.done) return;
    this.#parser.end();
    if (!this.failure && !this.done) this.#complete();
  }

  /**
   * Called when the stream cannot be completed. Relays the held-back piece of text as an ordinary
   * one.
   */
  breakOff(): void {
    this.#emitPiece(this.#lastPiece);
    this.#lastPiece = EMPTY;
  }

  /** Returns the chunks made since the last call, ready to send. */
  take(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }

  readonly #onData = (data: string): void => {
    if (this.failure || this.done) return;
    const text = this.#reader.textOf(data);
    if (text !== null) {
      this.#events++;
      this.#onPiece(text);
    } else if (data.trim() === DONE) this.#complete();
    else this.#onEvent(data);
  };

  #onEvent(data: string): void {
    let event: unknown;
    try {
      event = JSON.parse(data);
    } catch {
      this.#failUnreadable();
      return;
    }
    if (isErrorEvent(event)) this.failure = refusalOfErrorEvent(event, this.upstreamKey);
    else if (typeof event !== 'object' || event === null || Array.isArray(event)) this.#failUnreadable();
    else if (this.#onChunk(event)) this.#reader.learn(data, event);
  }

  /** Returns true if the chunk says nothing beyond its piece of text. */
  #onChunk({ choices, usage }: UpstreamChunk): boolean {
    this.#events++;
    if (usage) this.usage = validUsage(usage, this.#identity.reservedTokens);
    if (choices === undefined || choices === null) return false;
    if (!Array.isArray(choices)) {
      this.#failUnreadable();
      return false;
    }
    const choice = answerIn(choices as readonly UpstreamChoice[]);
    return choice !== undefined && this.#onChoice(choice) && !usage;
  }

  /** Returns true if the choice says nothing beyond its piece of text. */
  #onChoice({ delta, finish_reason }: UpstreamChoice): boolean {
    const content = delta?.content ?? '';
    if (typeof content !== 'string') {
      this.#failUnreadable();
      return false;
    }
    if (!this.started) this.#emitRole();
    const reason = finishReason(finish_reason);
    this.#reason = reason ?? this.#reason;
    this.#onPiece(JSON.stringify(content));
    if (isCutOff(finish_reason)) this.failure = ENDED_EARLY;
    if (this.failure === null) this.started = true;
    return reason === null;
  }

  #onPiece(text: string): void {
    if (this.#reason === null) this.#emitPiece(text);
    else if (text !== EMPTY) {
      this.#emitPiece(this.#lastPiece);
      this.#lastPiece = text;
    }
  }

  #complete(): void {
    if (this.#reason === null) {
      this.failure = ENDED_EARLY;
      return;
    }
    const usageChunk = this.#options.includeUsage
      ? `${this.#head}],"usage":${usageJson(this.usage)}}\n\n`
      : '';
    this.tail = `${usageChunk}data: ${DONE}\n\n`;
    // Count the tail first. If it does not fit, no finish reason may be relayed either.
    this.#bytesOut += Buffer.byteLength(this.tail);
    this.#emitContent(this.#lastPiece, FINISHED[this.#reason]);
    this.done = this.failure === null;
  }

  #emitRole(): void {
    const event = `${this.#head}{"index":0,"delta":{"role":"assistant","content":""${NOT_FINISHED}`;
    this.#emit(event, Buffer.byteLength(event));
  }

  #emitPiece(text: string): void {
    if (text !== EMPTY) this.#emitContent(text, NOT_FINISHED);
  }

  #emitContent(text: string, end: string): void {
    this.#emit(this.#contentHead + text + end, this.#contentHeadBytes + Buffer.byteLength(text) + end.length);
  }

  #emit(event: string, bytes: number): void {
    const { maxBytes, maxEventBytes } = this.#options;
    if (bytes > maxEventBytes || this.#bytesOut + bytes > maxBytes) {
      this.#failTooLarge();
      return;
    }
    this.#bytesOut += bytes;
    this.#out += event;
  }

  #failUnreadable(): void {
    this.failure = UNREADABLE;
  }

  #failTooLarge(): void {
    this.tooLarge = true;
    this.failure ??= TOO_LARGE;
  }
}
