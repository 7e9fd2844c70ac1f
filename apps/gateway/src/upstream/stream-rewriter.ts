import type { Refusal } from '@tidegate/contracts';
import { isErrorEvent, refusalOfErrorEvent, upstreamError } from './refused.ts';
import { SseParser } from './sse-parser.ts';
import { finishReason, readUsage, type Usage, usageJson } from './usage.ts';

/** What every chunk of one answer carries, and what its usage must fit. */
export interface AnswerIdentity {
  readonly completionId: string;
  readonly createdS: number;
  /** The published name. */
  readonly model: string;
  readonly reservedTokens: number;
}

export interface StreamLimits {
  readonly maxBytes: number;
  readonly maxEventBytes: number;
}

interface UpstreamChoice {
  readonly delta?: { readonly content?: unknown };
  readonly finish_reason?: unknown;
}

interface UpstreamChunk {
  readonly choices?: readonly UpstreamChoice[];
  readonly usage?: unknown;
}

const DONE = '[DONE]';
const chunkEnd = (reason: string): string => `},"logprobs":null,"finish_reason":${reason}}]}\n\n`;
const NOT_FINISHED = chunkEnd('null');
const FINISHED = { stop: chunkEnd('"stop"'), length: chunkEnd('"length"') };

/**
 * Turns the bytes of a model's stream into the contract's chunks (docs/conformance.md, "Stream chunk"): first a chunk with the role and
 * empty content, then one for each piece of text, the last one with the finish reason. The usage chunk and `[DONE]` are the
 * caller's to send (`tail`), once the answer is settled.
 *
 * Both what arrives and what leaves counts toward the limits.
 */
export class StreamRewriter {
  /** The first event has been understood: from now on the answer is a stream. */
  started = false;
  /** The finish reason has been relayed. */
  finished = false;
  /** The model sent its `[DONE]`. */
  done = false;
  /** Why the stream cannot go on; what was taken before stays valid. */
  failure: Refusal | null = null;
  /** The failure is that a limit was passed. */
  tooLarge = false;
  usage: Usage | null = null;

  readonly #identity: AnswerIdentity;
  readonly #limits: StreamLimits;
  readonly #parser: SseParser;
  readonly #head: string;
  readonly #contentHead: string;
  readonly #roleHead: string;
  readonly #headBytes: number;
  #out = '';
  #bytesIn = 0;
  #bytesOut = 0;
  #events = 0;

  constructor(identity: AnswerIdentity, limits: StreamLimits) {
    const { completionId, createdS, model } = identity;
    this.#identity = identity;
    this.#limits = limits;
    this.#parser = new SseParser(limits.maxEventBytes, this.#onData);
    this.#head = `data: {"id":"${completionId}","object":"chat.completion.chunk","created":${createdS},"model":${JSON.stringify(model)},"choices":[`;
    this.#contentHead = `${this.#head}{"index":0,"delta":{"content":`;
    this.#roleHead = `${this.#head}{"index":0,"delta":{"role":"assistant","content":`;
    this.#headBytes = Buffer.byteLength(this.#roleHead);
  }

  /** Events understood so far: a stream that sends bytes but no events is silent. */
  get events(): number {
    return this.#events;
  }

  /** Reads on. What it made is in `take`, how it stands in the other members. */
  push(bytes: Buffer): void {
    if (this.failure || this.done) return;
    this.#bytesIn += bytes.length;
    if (this.#bytesIn > this.#limits.maxBytes) this.#failTooLarge();
    else if (!this.#parser.push(bytes)) this.#failTooLarge();
  }

  /** The model ended its stream. A missing `[DONE]` after a finish reason is forgiven. */
  end(): void {
    if (this.failure || this.done) return;
    this.#parser.end();
    if (!this.finished) this.failure ??= upstreamError('The model ended its answer too early.');
  }

  /** The chunks made since the last call, ready to be sent. */
  take(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }

  /** What follows the last content chunk once the answer is settled. */
  tail(includeUsage: boolean): string {
    if (!includeUsage) return `data: ${DONE}\n\n`;
    return `${this.#head}],"usage":${usageJson(this.usage)}}\n\ndata: ${DONE}\n\n`;
  }

  readonly #onData = (data: string): void => {
    if (this.failure || this.done) return;
    if (data === DONE) {
      this.done = true;
      if (!this.finished) this.failure = upstreamError('The model ended its answer too early.');
      return;
    }
    let event: unknown;
    try {
      event = JSON.parse(data);
    } catch {
      this.failure = upstreamError('The model sent an answer that cannot be read.');
      return;
    }
    if (isErrorEvent(event)) this.failure = refusalOfErrorEvent(event);
    else this.#onChunk(event as UpstreamChunk | null);
  };

  #onChunk(chunk: UpstreamChunk | null): void {
    if (!chunk || !Array.isArray(chunk.choices)) {
      this.#failUnreadable();
      return;
    }
    this.#events++;
    if (chunk.usage) this.usage = readUsage(chunk.usage, this.#identity.reservedTokens);
    const choice = chunk.choices[0];
    if (choice && !this.finished) this.#onChoice(choice);
  }

  #onChoice({ delta, finish_reason }: UpstreamChoice): void {
    const content = delta?.content ?? '';
    if (typeof content !== 'string') {
      this.#failUnreadable();
      return;
    }
    if (!this.started) {
      this.started = true;
      this.#emit(this.#roleHead, '""', NOT_FINISHED);
    }
    const reason = finishReason(finish_reason);
    this.finished = reason !== null;
    if (content === '' && reason === null) return;
    this.#emit(this.#contentHead, JSON.stringify(content), reason === null ? NOT_FINISHED : FINISHED[reason]);
  }

  #emit(head: string, content: string, end: string): void {
    const bytes = this.#headBytes + Buffer.byteLength(content) + end.length;
    this.#bytesOut += bytes;
    if (bytes > this.#limits.maxEventBytes || this.#bytesOut > this.#limits.maxBytes) this.#failTooLarge();
    else this.#out += head + content + end;
  }

  #failUnreadable(): void {
    this.failure = upstreamError('The model sent an answer that cannot be read.');
  }

  #failTooLarge(): void {
    this.tooLarge = true;
    this.failure ??= upstreamError('The answer of the model is too large.');
  }
}
