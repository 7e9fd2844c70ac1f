import type { IncomingMessage } from 'node:http';
import type { Span, Tracing } from '@tidegate/tracing';
import type { CatalogModel } from '../catalog/catalog.ts';
import { errorCodeOf } from '../ending.ts';
import type { CallOutcome } from '../upstream/call-outcome.ts';
import type { RequestFacts, RequestPhase } from './facts.ts';

/** The part of an `Exchange` that its trace needs. */
export interface TracedExchange {
  readonly request: Pick<IncomingMessage, 'headers'>;
  readonly requestId: string;
  readonly facts: RequestFacts;
}

/**
 * The trace of one completion: a span for the request, one for each phase, and one for each call to
 * a model. The spans hold ids, names of models, words from closed sets, and counts, but never
 * content.
 */
export class RequestTrace {
  readonly #span: Span;
  #phase: Span | null = null;

  /** Continues the caller's trace, if its headers are valid. */
  constructor(tracing: Tracing, { request, requestId, facts }: TracedExchange) {
    const { traceparent, tracestate } = request.headers;
    this.#span = tracing.begin(
      { traceparent: textOf(traceparent), tracestate: textOf(tracestate) },
      {
        name: 'POST /v1/chat/completions',
        role: 'server',
        atMs: facts.startedAtMs,
        attributes: {
          'http.request.method': 'POST',
          'http.route': '/v1/chat/completions',
          'tidegate.request.id': requestId,
          'tidegate.org.id': facts.orgId,
          'tidegate.key.id': facts.keyId,
        },
      },
    );
    this.enter('receive', facts.startedAtMs);
  }

  /** For the log line. Undefined if the trace is not sampled: there is nothing to find. */
  get traceId(): string | undefined {
    return this.#span.sampled ? this.#span.traceId : undefined;
  }

  /** The phase's `traceparent`, for other services. Undefined if the trace is not sampled. */
  get onward(): string | undefined {
    return this.#span.sampled ? (this.#phase ?? this.#span).traceparent : undefined;
  }

  /** The phase `answer` has no span of its own: each call to a model in it has one. */
  enter(phase: RequestPhase | null, atMs: number): void {
    this.#phase?.end(atMs);
    const spanned = phase !== null && phase !== 'answer';
    this.#phase = spanned ? this.#span.child({ name: phase, role: 'internal', atMs }) : null;
  }

  /** Begins the span of a call to a model. `endModelCall` ends it. */
  callModel(model: CatalogModel, { replicaId, streamed }: RequestFacts): Span {
    const name = model.upstreamModel || model.name;
    return this.#span.child({
      name: `chat ${name}`,
      role: 'client',
      atMs: performance.now(),
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': name,
        'gen_ai.request.stream': streamed,
        'http.request.method': 'POST',
        'tidegate.model.id': model.modelId,
        'tidegate.replica.id': replicaId,
      },
    });
  }

  /**
   * @param status of the answer; 0: none
   * @param code why there is no complete answer, or null
   */
  end(facts: RequestFacts, status: number, code: string | null, atMs: number): void {
    this.enter(null, atMs);
    const { model, usage } = facts;
    this.#span.set({
      'http.response.status_code': status || null,
      'tidegate.refusal.cause': facts.cause,
      'tidegate.model.id': model?.modelId,
      'gen_ai.request.model': model?.name,
      'gen_ai.request.stream': model ? facts.streamed : null,
      'gen_ai.usage.input_tokens': usage?.promptTokens,
      'gen_ai.usage.output_tokens': usage?.completionTokens,
      'error.type': code,
    });
    const failed = status >= 500 || (status === 0 && code !== 'client_closed');
    this.#span.end(atMs, failed ? (code ?? String(status)) : null);
  }
}

/**
 * @param status of the replica's answer; 0: none
 * @param sentAtMs monotonic
 */
export function endModelCall(
  span: Span,
  outcome: CallOutcome | null,
  { status, sentAtMs, firstChunkAtMs }: CallTimes,
): void {
  if (firstChunkAtMs !== null) {
    span.event('first chunk', firstChunkAtMs);
    span.set({ 'gen_ai.response.time_to_first_chunk': (firstChunkAtMs - sentAtMs) / 1_000 });
  }
  const usage = outcome && 'usage' in outcome ? outcome.usage : null;
  span.set({
    'http.response.status_code': status || null,
    'gen_ai.usage.input_tokens': usage?.promptTokens,
    'gen_ai.usage.output_tokens': usage?.completionTokens,
  });
  span.end(performance.now(), errorOf(outcome));
}

export interface CallTimes {
  readonly status: number;
  readonly sentAtMs: number;
  readonly firstChunkAtMs: number | null;
}

function errorOf(outcome: CallOutcome | null): string | null {
  if (outcome === null) return 'internal_error';
  return outcome.kind === 'unreached' ? 'unreached' : errorCodeOf(outcome);
}

const textOf = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : undefined;
