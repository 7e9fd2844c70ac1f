import { Pieces } from '../bytes/pieces.ts';
import { NO_ROOM_FOR_ANSWER } from '../refusals.ts';
import { type AnswerIdentity, answerIn, RECEIVED_PER_RELAYED } from './answer.ts';
import type { CallOutcome } from './call-outcome.ts';
import { parseJson } from './json.ts';
import {
  ENDED_EARLY,
  isErrorEvent,
  MODEL_FAILED,
  refusalOfErrorEvent,
  TOO_LARGE,
  UNREADABLE,
} from './refused.ts';
import { type AnswerMemory, NO_ANSWER_IN_TIME, UpstreamCall } from './upstream-call.ts';
import { finishReason, isCutOff, usageJson, validUsage } from './usage.ts';

export interface WholeLimits {
  readonly timeoutMs: number;
  /** Limit for the answer as it is relayed. */
  readonly maxBytes: number;
}

/** A call that is answered as a whole: read up to the limit, then parsed. */
export class WholeCall extends UpstreamCall {
  readonly #identity: AnswerIdentity;
  readonly #maxBytes: number;
  readonly #body = new Pieces();

  constructor(
    identity: AnswerIdentity,
    { timeoutMs, maxBytes }: WholeLimits,
    upstreamKey: string,
    memory: AnswerMemory,
  ) {
    super(timeoutMs, upstreamKey, memory);
    this.#identity = identity;
    this.#maxBytes = maxBytes;
  }

  protected onBody(bytes: Buffer): void {
    this.#body.add(bytes);
    if (this.#body.bytes > RECEIVED_PER_RELAYED * this.#maxBytes) this.end(TOO_LARGE);
    else if (!this.memory.holdAnswer(this.#body.bytes)) this.end(NO_ROOM_FOR_ANSWER);
  }

  protected onBodyEnd(): void {
    const outcome = parseAnswer(this.#body.take().toString(), this.#identity, this.upstreamKey);
    const tooLarge = outcome.kind === 'whole' && Buffer.byteLength(outcome.json) > this.#maxBytes;
    this.end(tooLarge ? TOO_LARGE : outcome, true);
  }

  protected onBroken(): void {
    this.end(MODEL_FAILED);
  }

  protected onTimeout(): void {
    this.end(NO_ANSWER_IN_TIME);
  }
}

interface UpstreamAnswer {
  readonly choices?: readonly {
    readonly index?: unknown;
    readonly message?: { readonly content?: unknown };
    readonly finish_reason?: unknown;
  }[];
  readonly usage?: unknown;
}

/**
 * Converts a model's answer to the contract's form (docs/conformance.md, "Chat completion
 * response").
 */
export function parseAnswer(body: string, identity: AnswerIdentity, upstreamKey: string): CallOutcome {
  let answer: UpstreamAnswer | null;
  try {
    answer = parseJson(body) as UpstreamAnswer | null;
  } catch {
    return UNREADABLE;
  }
  if (isErrorEvent(answer)) return refusalOfErrorEvent(answer, upstreamKey);
  const choice = Array.isArray(answer?.choices) ? answerIn(answer.choices) : undefined;
  const content = choice?.message?.content ?? '';
  if (!choice?.message || typeof content !== 'string') return UNREADABLE;
  if (isCutOff(choice.finish_reason)) return ENDED_EARLY;
  const { completionId, createdS, model, reservedTokens } = identity;
  const usage = validUsage(answer?.usage, reservedTokens);
  const message = `{"role":"assistant","content":${JSON.stringify(content)}}`;
  const reason = finishReason(choice.finish_reason) ?? 'stop';
  const only = `{"index":0,"message":${message},"logprobs":null,"finish_reason":"${reason}"}`;
  const json = `{"id":"${completionId}","object":"chat.completion","created":${createdS},"model":${JSON.stringify(model)},"choices":[${only}],"usage":${usageJson(usage)}}`;
  return { kind: 'whole', json, usage };
}
