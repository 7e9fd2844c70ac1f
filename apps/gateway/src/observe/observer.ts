import { ERRORS, type ErrorCode, REFUSAL_CAUSES, type Refusal } from '@tidegate/contracts';
import {
  type CountCell,
  CountCells,
  type LineFields,
  type LineLog,
  type Logger,
  type Registry,
  type SpreadCell,
  SpreadCells,
} from '@tidegate/runtime';
import type { Catalog } from '../catalog/catalog.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Refused } from '../limiter/refusal-reports.ts';
import type { CallOutcome } from '../upstream/call-outcome.ts';
import { PHASES, type Phase, type RequestFacts, type Route } from './facts.ts';
import { ModelMeters, type RequestResult } from './models.ts';
import { recordOf } from './record-of.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const PHASE_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 60, 120, 600];
const LIMITER_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const ROUTES: readonly Route[] = ['chat_completions', 'models', 'none'];
/** Statuses of models with a series of their own. Others are counted by their class, as `4xx`. */
const UPSTREAM_STATUSES = new Set([200, 400, 401, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504]);

/**
 * What operators see of requests: counts, times, and one log line each. Never content or keys. All
 * that is counted for each request has its series looked up before.
 */
export class Observer {
  readonly #log: Logger;
  readonly #line: LineLog;
  readonly #models: ModelMeters;
  readonly #requests: CountCells<'route' | 'status' | 'code'>;
  readonly #answered: Readonly<Record<Route, CountCell>>;
  readonly #refusals: CountCells<'code' | 'cause'>;
  readonly #unrecorded: CountCell;
  readonly #record: { count(refused: Refused): void };
  readonly #seconds: Readonly<Record<Route, SpreadCell>>;
  readonly #phases: Readonly<Record<Phase, SpreadCell>>;
  readonly #limiterCalls: SpreadCell;
  readonly #unanswered: CountCell;
  readonly #upstreamFailures: CountCells<'kind'>;
  readonly #upstreamResponses: CountCells<'status'>;
  readonly #upstreamOk: CountCell;

  /** @param record of what organizations see of their refused requests */
  constructor(
    log: Logger,
    line: LineLog,
    registry: Registry,
    catalog: Catalog,
    record: { count(refused: Refused): void },
  ) {
    this.#log = log;
    this.#line = line;
    this.#record = record;
    this.#models = new ModelMeters(registry, catalog);
    this.#requests = new CountCells({
      registry,
      name: 'tidegate_gateway_requests_total',
      help: 'Requests by answer. Status 0: no complete answer. Code: of the refusal, or why the answer is incomplete',
      labelNames: ['route', 'status', 'code'],
    });
    // Alerts must see the first of them as a rise.
    for (const code of ['internal_error', 'upstream_error'] as const)
      this.#requests.cell('chat_completions', String(ERRORS[code].status), code);
    this.#answered = recordOf(ROUTES, (route) => this.#requests.cell(route, '200', ''));
    this.#refusals = new CountCells({
      registry,
      name: 'tidegate_gateway_refusals_total',
      help: 'Requests that a limit refused (429), by the limit',
      labelNames: ['code', 'cause'],
    });
    for (const [code, causes] of Object.entries(REFUSAL_CAUSES))
      for (const cause of causes) this.#refusals.cell(code, cause);
    this.#unrecorded = new CountCells({
      registry,
      name: 'tidegate_gateway_refusals_unrecorded_total',
      help: 'Refusals that their organizations cannot see: there were too many kinds at once, or no limiter wrote them in an hour',
    }).cell();
    const seconds = new SpreadCells({
      registry,
      name: 'tidegate_gateway_request_seconds',
      help: 'From the head of the request to the end of its answer',
      labelNames: ['route'],
      buckets: SECONDS,
    });
    this.#seconds = recordOf(ROUTES, (route) => seconds.cell(route));
    const phases = new SpreadCells({
      registry,
      name: 'tidegate_gateway_phase_seconds',
      help: "A completion's time by phase: receive (to the end of all checks), admit, images, wake, reserve, answer (by the model), settle",
      labelNames: ['phase'],
      buckets: PHASE_S,
    });
    this.#phases = recordOf(PHASES, (phase) => phases.cell(phase));
    this.#limiterCalls = new SpreadCells({
      registry,
      name: 'tidegate_gateway_limiter_call_seconds',
      help: 'From a call to the limiter to its reply',
      buckets: LIMITER_S,
    }).cell();
    this.#unanswered = new CountCells({
      registry,
      name: 'tidegate_gateway_limiter_unanswered_total',
      help: 'Calls that no limiter answered: there was no session, it broke, or the time ran out',
    }).cell();
    this.#upstreamFailures = new CountCells({
      registry,
      name: 'tidegate_gateway_upstream_failures_total',
      help: 'Calls to models that did not end in a complete answer',
      labelNames: ['kind'],
    });
    this.#upstreamResponses = new CountCells({
      registry,
      name: 'tidegate_gateway_upstream_responses_total',
      help: 'Answers of models by HTTP status. Unusual statuses by their class',
      labelNames: ['status'],
    });
    this.#upstreamOk = this.#upstreamResponses.cell('200');
  }

  /** A request goes on to its next phase. Null: it is over but for its answer. */
  enter({ facts, trace }: Exchange, phase: Phase | null): void {
    const nowMs = performance.now();
    trace?.enter(phase, nowMs);
    if (facts.phase) this.#phases[facts.phase].observe((nowMs - facts.phaseAtMs) / 1_000);
    if (facts.phase === 'answer') facts.answeredAtMs = nowMs;
    facts.phase = phase;
    facts.phaseAtMs = nowMs;
  }

  /** @param ms from the call to its reply; null: there was none */
  limiterAnswered(ms: number | null): void {
    if (ms === null) this.#unanswered.value++;
    else this.#limiterCalls.observe(ms / 1_000);
  }

  /** @param status 0: no answer */
  upstreamAnswered(status: number): void {
    if (status === 200) this.#upstreamOk.value++;
    else if (status > 0) this.#upstreamResponses.cell(upstreamStatus(status)).value++;
  }

  upstreamEnded(outcome: CallOutcome): void {
    if (outcome.kind === 'whole' || outcome.kind === 'streamed') return;
    this.#upstreamFailures.cell(outcome.kind === 'refused' ? outcome.code : outcome.kind).value++;
  }

  /** Records an exchange that is over. Its answer was sent or given up. */
  ended(exchange: Exchange): void {
    const { facts } = exchange;
    const { route, code, cause, model } = facts;
    const nowMs = performance.now();
    const ms = nowMs - facts.startedAtMs;
    const incomplete = reasonIncomplete(exchange);
    const status = incomplete === null ? exchange.response.statusCode : 0;
    if (incomplete === null && code === null) this.#answered[route].value++;
    else this.#requests.cell(route, String(status), incomplete ?? code ?? '').value++;
    if (code && cause) this.#refusals.cell(code, cause).value++;
    if (code && !exchange.held?.counted) this.#recordRefusal(facts, code);
    this.#seconds[route].observe(ms / 1_000);
    if (model) this.#models.ended(model, resultOf(exchange), facts);
    exchange.trace?.end(facts, status, incomplete ?? code, nowMs);
    this.#line(fieldsOf(exchange, status, ms), 'request');
  }

  /** Refusals that the record of their organizations lacks. */
  unrecorded(refusals: number): void {
    this.#unrecorded.value += refusals;
  }

  #recordRefusal({ orgId, keyId, model, cause }: RequestFacts, code: ErrorCode): void {
    if (orgId === null || keyId === null) return;
    this.#record.count({ orgId, keyId, modelId: model?.modelId ?? null, code, cause });
  }

  /** Records an answer without an exchange: the input was not HTTP, or did not arrive in time. */
  refusedRaw(requestId: string, { code, cause }: Refusal): void {
    const { status } = ERRORS[code];
    this.#requests.cell('none', String(status), code).value++;
    if (cause) this.#refusals.cell(code, cause).value++;
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

function resultOf({ aborted, brokenOff, facts }: Exchange): RequestResult {
  if (aborted) return 'aborted';
  if (brokenOff) return 'broken_off';
  return facts.code ? 'refused' : 'answered';
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
