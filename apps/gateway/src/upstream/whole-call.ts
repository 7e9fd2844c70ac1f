import { Pieces } from '../bytes/pieces.ts';
import { parseJson } from './json.ts';
import type { CallOutcome } from './outcome.ts';
import { isErrorEvent, refusalOfErrorEvent, upstreamError } from './refused.ts';
import { FAILED, NO_ANSWER_IN_TIME, UNREADABLE, UpstreamCall } from './upstream-call.ts';
import { finishReason, readUsage } from './usage.ts';

export interface WholeLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly reservedTokens: number;
}

const TOO_LARGE = upstreamError('The answer of the model is too large.');

/** A call that is answered whole: read up to the limit, then understood. */
export class WholeCall extends UpstreamCall {
  readonly #limits: WholeLimits;
  readonly #body = new Pieces();

  constructor(limits: WholeLimits) {
    super(limits.timeoutMs);
    this.#limits = limits;
  }

  protected onBody(bytes: Buffer): void {
    this.#body.add(bytes);
    if (this.#body.bytes > this.#limits.maxBytes) this.end({ kind: 'refused', refusal: TOO_LARGE });
  }

  protected onBodyEnd(): void {
    this.end(understand(this.#body.take().toString(), this.#limits.reservedTokens), true);
  }

  protected onBroken(): void {
    this.end({ kind: 'refused', refusal: FAILED });
  }

  protected onTimeout(): void {
    this.end({ kind: 'refused', refusal: NO_ANSWER_IN_TIME });
  }
}

interface UpstreamAnswer {
  readonly choices?: readonly {
    readonly message?: { readonly content?: unknown };
    readonly finish_reason?: unknown;
  }[];
  readonly usage?: unknown;
}

/** The contract's part of a model's answer (docs/conformance.md, "Chat completion response"). */
export function understand(body: string, reservedTokens: number): CallOutcome {
  let answer: UpstreamAnswer | null;
  try {
    answer = parseJson(body) as UpstreamAnswer | null;
  } catch {
    return { kind: 'refused', refusal: UNREADABLE };
  }
  if (isErrorEvent(answer)) return { kind: 'refused', refusal: refusalOfErrorEvent(answer) };
  const choice = Array.isArray(answer?.choices) ? answer.choices[0] : undefined;
  const content = choice?.message?.content ?? '';
  if (!choice?.message || typeof content !== 'string') return { kind: 'refused', refusal: UNREADABLE };
  return {
    kind: 'whole',
    content,
    finishReason: finishReason(choice.finish_reason) ?? 'stop',
    usage: readUsage(answer?.usage, reservedTokens),
  };
}
