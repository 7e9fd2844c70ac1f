import { buildUpstreamBody, type CompletionRequest } from '@tidegate/contracts';
import { LIMITS } from '@tidegate/limits';
import { type CatalogModel, isAlwaysOn } from '../catalog/catalog.ts';
import type { Replica } from '../catalog/replicas.ts';
import type { Config } from '../config.ts';
import type { Ending } from '../ending.ts';
import type { Gateway } from '../gateway.ts';
import type { Exchange } from '../http/exchange.ts';
import { endModelCall } from '../observe/trace.ts';
import { MODEL_UNAVAILABLE } from '../refusals.ts';
import type { AnswerIdentity } from '../upstream/answer.ts';
import type { CallOutcome } from '../upstream/call-outcome.ts';
import { MODEL_FAILED } from '../upstream/refused.ts';
import { send, type TraceHeaders, type UpstreamRequest } from '../upstream/send.ts';
import { StreamCall } from '../upstream/stream-call.ts';
import { StreamRewriter } from '../upstream/stream-rewriter.ts';
import type { UpstreamCall } from '../upstream/upstream-call.ts';
import { WholeCall } from '../upstream/whole-call.ts';
import type { Prepared } from './prepare.ts';
import { ResponseSink } from './response-sink.ts';

export async function callModel(
  gateway: Gateway,
  exchange: Exchange,
  request: CompletionRequest,
  prepared: Prepared,
): Promise<Ending> {
  const outcome = await callReplicas(gateway, exchange, request, prepared);
  gateway.observer.upstreamEnded(outcome);
  if (outcome.kind !== 'unreached') return outcome;
  return outcome.connected ? MODEL_FAILED : MODEL_UNAVAILABLE;
}

/** Tries a second replica if the first answered nothing at all. */
async function callReplicas(
  gateway: Gateway,
  exchange: Exchange,
  request: CompletionRequest,
  { model, dataUrls }: Prepared,
): Promise<CallOutcome> {
  const upstreamRequest: UpstreamRequest = {
    body: buildUpstreamBody(
      request,
      { model: model.upstreamModel || model.name, includeUsage: true },
      dataUrls,
    ),
    key: model.upstreamKey,
    requestId: exchange.requestId,
    streamed: request.stream,
  };
  const identity: AnswerIdentity = {
    completionId: `chatcmpl-${exchange.id}`,
    createdS: Math.floor(gateway.nowMs() / 1_000),
    model: model.name,
    reservedTokens: model.contextTokens,
  };
  const maxMs = maxAnswerMs(gateway.config, model, request.stream);
  const startedAtMs = performance.now();
  let first: Replica | null = null;
  let outcome: CallOutcome = { kind: 'unreached', connected: false };
  for (;;) {
    const replica = gateway.replicas.take(withReplicas(gateway, model), first?.replicaId);
    if (!replica) return outcome;
    exchange.facts.replicaId = replica.replicaId;
    const leftMs = Math.max(1, maxMs - (performance.now() - startedAtMs));
    const call = request.stream
      ? streamCall(gateway.config, exchange, rewriterOf(identity, request), leftMs)
      : new WholeCall(identity, { timeoutMs: leftMs, maxBytes: LIMITS.wholeAnswerMaxBytes });
    const span = exchange.trace?.callModel(model, exchange.facts) ?? null;
    const sentAtMs = performance.now();
    let reached: boolean | null = null;
    let ended: CallOutcome | null = null;
    try {
      ended = await run(gateway, exchange, { call, replica, request: upstreamRequest, trace: span });
      outcome = ended;
      if (outcome.kind !== 'aborted') reached = outcome.kind !== 'unreached';
    } finally {
      gateway.replicas.release(replica, reached);
      gateway.observer.upstreamAnswered(call.status);
      const { firstChunkAtMs } = exchange.facts;
      if (span) endModelCall(span, ended, { status: call.status, sentAtMs, firstChunkAtMs });
    }
    if (outcome.kind !== 'unreached' || first) return outcome;
    first = replica;
  }
}

/**
 * The model with its current replicas. A model about to sleep may have none in the catalog, but its
 * previous ones still serve this request.
 */
function withReplicas({ catalog }: Gateway, model: CatalogModel): CatalogModel {
  const current = catalog.get(model.modelId);
  return current && current.replicas.length > 0 ? current : model;
}

interface Sending {
  readonly call: UpstreamCall;
  readonly replica: Replica;
  readonly request: UpstreamRequest;
  readonly trace: TraceHeaders | null;
}

async function run(
  gateway: Gateway,
  exchange: Exchange,
  { call, replica, request, trace }: Sending,
): Promise<CallOutcome> {
  if (exchange.aborted) call.abort(exchange.aborted);
  else {
    exchange.onAbort = (aborted) => call.abort(aborted);
    send(gateway.upstream, replica.baseUrl, request, call, trace);
  }
  const outcome = await call.outcome;
  exchange.onAbort = null;
  return outcome;
}

function maxAnswerMs(config: Config, model: CatalogModel, streamed: boolean): number {
  if (!streamed) return config.WHOLE_ANSWER_TIMEOUT_MS;
  return isAlwaysOn(model) ? config.STREAM_MAX_ALWAYS_ON_MS : config.STREAM_MAX_WAKE_ON_REQUEST_MS;
}

const rewriterOf = (identity: AnswerIdentity, { includeUsage }: CompletionRequest): StreamRewriter =>
  new StreamRewriter(identity, {
    maxBytes: LIMITS.streamMaxBytes,
    maxEventBytes: LIMITS.eventMaxBytes,
    includeUsage,
  });

const streamCall = (
  { FIRST_EVENT_TIMEOUT_MS, STREAM_PAUSE_MS }: Config,
  exchange: Exchange,
  rewriter: StreamRewriter,
  maxMs: number,
): StreamCall =>
  new StreamCall(rewriter, new ResponseSink(exchange), {
    maxMs,
    firstEventMs: FIRST_EVENT_TIMEOUT_MS,
    pauseMs: STREAM_PAUSE_MS,
  });
