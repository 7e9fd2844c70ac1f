import { ERRORS, type ErrorCode, type Refusal } from '@tidegate/contracts';
import type { LineFields, LineLog, Logger, Registry } from '@tidegate/runtime';
import type { Catalog } from '../catalog/catalog.ts';
import type { Exchange } from '../http/exchange.ts';
import type { RefusedRequest } from '../limiter/refusal-reports.ts';
import type { CallOutcome } from '../upstream/call-outcome.ts';
import type { RequestFacts, RequestPhase } from './facts.ts';
import { createMeters, type Meters } from './meters.ts';
import { ModelMeters, type RequestResult } from './models.ts';

/** Statuses of models that have series of their own. Others are counted by class, as `4xx`. */
const UPSTREAM_STATUSES = new Set([200, 400, 401, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504]);

export interface ObserverOptions {
  readonly log: Logger;
  /** One line per request. */
  readonly requestLog: LineLog;
  readonly registry: Registry;
  readonly catalog: Catalog;
  /** What organizations see of their refused requests. */
  readonly record: { count(refused: RefusedRequest): void };
}

/** What operators see of requests: counts, times, and one log line each. Never content or keys. */
export class Observer {
  readonly #log: Logger;
  readonly #line: LineLog;
  readonly #record: ObserverOptions['record'];
  readonly #models: ModelMeters;
  readonly #meters: Meters;

  constructor({ log, requestLog, registry, catalog, record }: ObserverOptions) {
    this.#log = log;
    this.#line = requestLog;
    this.#record = record;
    this.#models = new ModelMeters(registry, catalog);
    this.#meters = createMeters(registry);
  }

  /** A request goes on to its next phase. Null: only its answer is left to send. */
  enter({ facts, trace }: Exchange, phase: RequestPhase | null): void {
    const nowMs = performance.now();
    trace?.enter(phase, nowMs);
    if (facts.phase) this.#meters.phases[facts.phase].observe((nowMs - facts.phaseAtMs) / 1_000);
    if (facts.phase === 'answer') facts.answeredAtMs = nowMs;
    facts.phase = phase;
    facts.phaseAtMs = nowMs;
  }

  /** @param ms from the call to its reply; null: there was none */
  limiterAnswered(ms: number | null): void {
    if (ms === null) this.#meters.limiterUnanswered.value++;
    else this.#meters.limiterCalls.observe(ms / 1_000);
  }

  /** @param status 0: no answer */
  upstreamAnswered(status: number): void {
    if (status === 200) this.#meters.upstreamOk.value++;
    else if (status > 0) this.#meters.upstreamResponses.cell(upstreamStatus(status)).value++;
  }

  upstreamEnded(outcome: CallOutcome): void {
    if (outcome.kind === 'whole' || outcome.kind === 'streamed') return;
    this.#meters.upstreamFailures.cell(outcome.kind === 'refused' ? outcome.code : outcome.kind).value++;
  }

  /** Records an exchange that is over. Its answer was sent or given up. */
  ended(exchange: Exchange): void {
    const { facts } = exchange;
    const { route, code, cause, model } = facts;
    const nowMs = performance.now();
    const ms = nowMs - facts.startedAtMs;
    const incomplete = reasonIncomplete(exchange);
    const status = incomplete === null ? exchange.response.statusCode : 0;
    if (incomplete === null && code === null) this.#meters.answered[route].value++;
    else this.#meters.requests.cell(route, String(status), incomplete ?? code ?? '').value++;
    if (code && cause) this.#meters.refusals.cell(code, cause).value++;
    if (code && !exchange.held?.counted) this.#recordRefusal(facts, code);
    this.#meters.seconds[route].observe(ms / 1_000);
    if (model) this.#models.ended(model, resultOf(exchange), facts);
    exchange.trace?.end(facts, status, incomplete ?? code, nowMs);
    this.#line(fieldsOf(exchange, status, ms), 'request');
  }

  /** Counts refusals that are missing from their organizations' record. */
  unrecorded(refusals: number): void {
    this.#meters.unrecorded.value += refusals;
  }

  #recordRefusal({ orgId, keyId, model, cause }: RequestFacts, code: ErrorCode): void {
    if (orgId === null || keyId === null) return;
    this.#record.count({ orgId, keyId, modelId: model?.modelId ?? null, code, cause });
  }

  /** Records an answer without an exchange: the input was not HTTP, or did not arrive in time. */
  refusedRaw(requestId: string, { code, cause }: Refusal): void {
    const { status } = ERRORS[code];
    this.#meters.requests.cell('none', String(status), code).value++;
    if (cause) this.#meters.refusals.cell(code, cause).value++;
    this.#line({ requestId, route: 'none', status, code, cause }, 'request');
  }

  fault(exchange: Exchange, err: unknown): void {
    this.#log.error(
      { requestId: exchange.requestId, err },
      'a request failed because of a bug in the gateway',
    );
  }
}

const upstreamStatus = (status: number): string => {
  if (UPSTREAM_STATUSES.has(status)) return String(status);
  return status < 600 ? `${Math.floor(status / 100)}xx` : 'other';
};

/** Why the client has no complete answer, or null if it has one. */
function reasonIncomplete({ response, brokenOff, aborted, facts }: Exchange): string | null {
  if (!brokenOff && response.headersSent && response.writableFinished) return null;
  return aborted?.reason ?? facts.brokenBy ?? 'internal_error';
}

function resultOf({ aborted, brokenOff, facts, held }: Exchange): RequestResult {
  if (aborted) return 'aborted';
  if (brokenOff) return 'broken_off';
  if (facts.code === null) return 'answered';
  return held?.counted && ERRORS[facts.code].status >= 500 ? 'failed' : 'refused';
}

function fieldsOf(exchange: Exchange, status: number, ms: number): LineFields {
  const { facts } = exchange;
  const { model, usage, firstChunkAtMs } = facts;
  return {
    requestId: exchange.requestId,
    traceId: exchange.trace?.traceId,
    method: exchange.request.method,
    route: facts.route,
    status,
    code: facts.code ?? facts.brokenBy,
    cause: facts.cause,
    aborted: exchange.aborted?.reason,
    brokenOff: exchange.brokenOff || null,
    orgId: facts.orgId,
    keyId: facts.keyId,
    modelId: model?.modelId,
    replica: facts.replicaId,
    streamed: model ? facts.streamed : null,
    promptTokens: usage?.promptTokens,
    completionTokens: usage?.completionTokens,
    firstChunkMs: firstChunkAtMs === null ? null : tenths(firstChunkAtMs - facts.startedAtMs),
    ms: tenths(ms),
  };
}

const tenths = (ms: number): number => Math.round(ms * 10) / 10;
