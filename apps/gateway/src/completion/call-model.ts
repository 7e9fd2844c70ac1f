import { buildUpstreamBody, type CompletionRequest, isRefusal } from '@tidegate/contracts';
import { LIMITS } from '@tidegate/limits';
import { type CatalogModel, isAlwaysOn } from '../catalog/catalog.ts';
import type { Replica, ReplicaResult } from '../catalog/replicas.ts';
import type { Config } from '../config.ts';
import type { Ending } from '../ending.ts';
import type { Gateway } from '../gateway.ts';
import type { Exchange } from '../http/exchange.ts';
import type { DataUrls } from '../images/fetch.ts';
import { endModelCall } from '../observe/trace.ts';
import { MODEL_UNAVAILABLE } from '../refusals.ts';
import type { AnswerIdentity } from '../upstream/answer.ts';
import type { CallOutcome } from '../upstream/call-outcome.ts';
import { MODEL_FAILED } from '../upstream/refused.ts';
import { send, type UpstreamRequest } from '../upstream/send.ts';
import { StreamCall } from '../upstream/stream-call.ts';
import { StreamRewriter } from '../upstream/stream-rewriter.ts';
import type { AnswerMemory } from '../upstream/upstream-call.ts';
import { WholeCall } from '../upstream/whole-call.ts';
import type { Prepared } from './prepare.ts';
import { ResponseSink } from './response-sink.ts';

export interface CallInput extends Prepared {
  /**
   * What is reserved for the request: the model's context length when the request was admitted. The
   * model may have another one now.
   */
  readonly reservedTokens: number;
  readonly memory: AnswerMemory;
}

export async function callModel(
  gateway: Gateway,
  exchange: Exchange,
  request: CompletionRequest,
  input: CallInput,
): Promise<Ending> {
  const outcome = await callReplicas(gateway, exchange, request, input);
  gateway.observer.upstreamEnded(outcome);
  if (outcome.kind !== 'unreached') return outcome;
  return outcome.connected ? MODEL_FAILED : MODEL_UNAVAILABLE;
}

/** What the calls to several replicas have in common. */
interface ModelCall {
  readonly request: CompletionRequest;
  readonly dataUrls: DataUrls;
  readonly identity: AnswerIdentity;
  readonly memory: AnswerMemory;
  /** When the answer must be complete. Monotonic time. */
  readonly endsAtMs: number;
  /** When a stream must have begun, however many replicas are tried. Monotonic time. */
  readonly beginsAtMs: number;
}

/**
 * What is sent to the replicas of a catalog entry. Its key and its upstream model name must never
 * be sent to another entry's servers.
 */
interface EntryCall {
  readonly model: CatalogModel;
  readonly upstreamRequest: UpstreamRequest;
}

/** Tries a second replica if the first answered nothing at all. */
async function callReplicas(
  gateway: Gateway,
  exchange: Exchange,
  request: CompletionRequest,
  { model, dataUrls, reservedTokens, memory }: CallInput,
): Promise<CallOutcome> {
  const startedAtMs = performance.now();
  const modelCall: ModelCall = {
    request,
    dataUrls,
    identity: {
      completionId: `chatcmpl-${exchange.id}`,
      createdS: Math.floor(gateway.nowMs() / 1_000),
      model: model.name,
      reservedTokens,
    },
    memory,
    endsAtMs: startedAtMs + maxAnswerMs(gateway.config, model, request.stream),
    beginsAtMs: startedAtMs + gateway.config.FIRST_EVENT_TIMEOUT_MS,
  };
  const current = withReplicas(gateway, model);
  const first = gateway.replicas.take(current);
  if (!first) return { kind: 'unreached', connected: false };
  const entryCall = entryCallOf(exchange, modelCall, current);
  const outcome = await callReplica(gateway, exchange, modelCall, entryCall, first);
  if (outcome.kind !== 'unreached') return outcome;
  const next = withReplicas(gateway, current);
  const second = gateway.replicas.take(next, first.replicaId);
  if (!second) return outcome;
  const nextEntryCall = next === current ? entryCall : entryCallOf(exchange, modelCall, next);
  return callReplica(gateway, exchange, modelCall, nextEntryCall, second);
}

const entryCallOf = (
  exchange: Exchange,
  { request, dataUrls }: ModelCall,
  model: CatalogModel,
): EntryCall => ({
  model,
  upstreamRequest: {
    body: buildUpstreamBody(request, model.upstreamModel || model.name, dataUrls),
    key: model.upstreamKey,
    requestId: exchange.requestId,
    streamed: request.stream,
  },
});

async function callReplica(
  gateway: Gateway,
  exchange: Exchange,
  modelCall: ModelCall,
  { model, upstreamRequest }: EntryCall,
  replica: Replica,
): Promise<CallOutcome> {
  const { facts } = exchange;
  facts.replicaId = replica.replicaId;
  const call = modelCall.request.stream
    ? streamCall(gateway.config, exchange, modelCall, upstreamRequest.key)
    : wholeCall(modelCall, upstreamRequest.key);
  const span = exchange.trace?.callModel(model, facts) ?? null;
  const sentAtMs = performance.now();
  let outcome: CallOutcome | null = null;
  try {
    if (exchange.aborted) call.abort(exchange.aborted);
    else {
      exchange.onAbort = (aborted) => call.abort(aborted);
      send(gateway.upstream, replica.baseUrl, upstreamRequest, call, span);
    }
    outcome = await call.outcome;
    exchange.onAbort = null;
    return outcome;
  } finally {
    gateway.replicas.release(withReplicas(gateway, model), replica, replicaResultOf(outcome));
    gateway.observer.upstreamAnswered(call.status);
    const { firstChunkAtMs } = facts;
    if (span) endModelCall(span, outcome, { status: call.status, sentAtMs, firstChunkAtMs });
  }
}

/** @param outcome null: the gateway itself failed */
function replicaResultOf(outcome: CallOutcome | null): ReplicaResult {
  if (outcome === null) return 'unknown';
  if (isRefusal(outcome)) return outcome.code === 'upstream_error' ? 'failed' : 'unknown';
  switch (outcome.kind) {
    case 'whole':
    case 'streamed':
      return 'answered';
    case 'broken':
      return outcome.errorCode === 'upstream_error' ? 'failed' : 'unknown';
    case 'unreached':
      return 'unreached';
    case 'aborted':
      return 'unknown';
  }
}

/**
 * The model's current entry. If it has no replicas, as when the model is about to sleep, this is
 * the previous entry, whose replicas still serve this request.
 */
function withReplicas({ catalog }: Gateway, model: CatalogModel): CatalogModel {
  const current = catalog.get(model.modelId);
  return current && current.replicas.length > 0 ? current : model;
}

function maxAnswerMs(config: Config, model: CatalogModel, streamed: boolean): number {
  if (!streamed) return config.WHOLE_ANSWER_TIMEOUT_MS;
  return isAlwaysOn(model) ? config.STREAM_MAX_ALWAYS_ON_MS : config.STREAM_MAX_WAKE_ON_REQUEST_MS;
}

const wholeCall = ({ identity, endsAtMs, memory }: ModelCall, upstreamKey: string): WholeCall =>
  new WholeCall(
    identity,
    { timeoutMs: msUntil(endsAtMs), maxBytes: LIMITS.wholeAnswerMaxBytes },
    upstreamKey,
    memory,
  );

const streamCall = (
  { STREAM_PAUSE_MS, UNREAD_ANSWER_TIMEOUT_MS }: Config,
  exchange: Exchange,
  modelCall: ModelCall,
  upstreamKey: string,
): StreamCall =>
  new StreamCall(
    rewriterOf(modelCall, upstreamKey),
    new ResponseSink(exchange, UNREAD_ANSWER_TIMEOUT_MS),
    {
      maxMs: msUntil(modelCall.endsAtMs),
      firstEventMs: msUntil(modelCall.beginsAtMs),
      pauseMs: STREAM_PAUSE_MS,
    },
    modelCall.memory,
  );

const rewriterOf = ({ identity, request }: ModelCall, upstreamKey: string): StreamRewriter =>
  new StreamRewriter(identity, {
    maxBytes: LIMITS.streamMaxBytes,
    maxEventBytes: LIMITS.eventMaxBytes,
    includeUsage: request.includeUsage,
    upstreamKey,
  });

/** For a timer, whose minimum is 1 ms. */
const msUntil = (atMs: number): number => Math.max(1, atMs - performance.now());
