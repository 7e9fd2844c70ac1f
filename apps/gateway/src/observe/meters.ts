import { ERRORS, REFUSAL_CAUSES } from '@tidegate/contracts';
import {
  type CounterCell,
  CounterCells,
  type HistogramCell,
  HistogramCells,
  type Registry,
} from '@tidegate/runtime';
import { PHASES, type RequestPhase, type Route } from './facts.ts';
import { recordOf } from './record-of.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const PHASE_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 60, 120, 600];
const LIMITER_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const ROUTES: readonly Route[] = ['chat_completions', 'models', 'none'];

/** What is counted and timed for all requests. What each of them needs is looked up once, here. */
export interface Meters {
  readonly requests: CounterCells<'route' | 'status' | 'code'>;
  /** Of `requests`: those with a complete answer. */
  readonly answered: Readonly<Record<Route, CounterCell>>;
  readonly refusals: CounterCells<'code' | 'cause'>;
  readonly unrecorded: CounterCell;
  readonly seconds: Readonly<Record<Route, HistogramCell>>;
  readonly phases: Readonly<Record<RequestPhase, HistogramCell>>;
  readonly limiterCalls: HistogramCell;
  readonly limiterUnanswered: CounterCell;
  readonly upstreamFailures: CounterCells<'kind'>;
  readonly upstreamResponses: CounterCells<'status'>;
  /** Of `upstreamResponses`. */
  readonly upstreamOk: CounterCell;
}

export const createMeters = (registry: Registry): Meters => ({
  ...countRequests(registry),
  ...timeRequests(registry),
  ...meterLimiter(registry),
  ...meterUpstream(registry),
});

function countRequests(registry: Registry) {
  const requests = new CounterCells({
    registry,
    name: 'tidegate_gateway_requests_total',
    help: 'Requests by answer. Status 0: the answer was not complete. Code: that of the refusal, or why the answer is incomplete',
    labelNames: ['route', 'status', 'code'],
  });
  // Created in advance, so that alerts see the first of them as a rise.
  for (const code of ['internal_error', 'upstream_error'] as const)
    requests.cell('chat_completions', String(ERRORS[code].status), code);
  const answered = recordOf(ROUTES, (route) => requests.cell(route, '200', ''));
  const refusals = new CounterCells({
    registry,
    name: 'tidegate_gateway_refusals_total',
    help: 'Requests that a limit refused (429), by the limit',
    labelNames: ['code', 'cause'],
  });
  for (const [code, causes] of Object.entries(REFUSAL_CAUSES))
    for (const cause of causes) refusals.cell(code, cause);
  const unrecorded = new CounterCells({
    registry,
    name: 'tidegate_gateway_refusals_unrecorded_total',
    help: 'Refusals that their organizations cannot see: too many kinds came at once, or no limiter recorded them within an hour',
  }).cell();
  return { requests, answered, refusals, unrecorded };
}

function timeRequests(registry: Registry) {
  const seconds = new HistogramCells({
    registry,
    name: 'tidegate_gateway_request_seconds',
    help: 'From the head of the request to the end of its answer',
    labelNames: ['route'],
    buckets: SECONDS,
  });
  const phases = new HistogramCells({
    registry,
    name: 'tidegate_gateway_phase_seconds',
    help: "A completion's time by phase: receive (to the end of all checks), admit, images, wake, reserve, answer (by the model), settle",
    labelNames: ['phase'],
    buckets: PHASE_S,
  });
  return {
    seconds: recordOf(ROUTES, (route) => seconds.cell(route)),
    phases: recordOf(PHASES, (phase) => phases.cell(phase)),
  };
}

function meterLimiter(registry: Registry) {
  const limiterCalls = new HistogramCells({
    registry,
    name: 'tidegate_gateway_limiter_call_seconds',
    help: 'From a call to the limiter to its reply',
    buckets: LIMITER_S,
  }).cell();
  const limiterUnanswered = new CounterCells({
    registry,
    name: 'tidegate_gateway_limiter_unanswered_total',
    help: 'Calls that no limiter answered: there was no session, it broke, or the time ran out',
  }).cell();
  return { limiterCalls, limiterUnanswered };
}

function meterUpstream(registry: Registry) {
  const upstreamFailures = new CounterCells({
    registry,
    name: 'tidegate_gateway_upstream_failures_total',
    help: 'Calls to models that did not end in a complete answer',
    labelNames: ['kind'],
  });
  // Created in advance, so that the first of them is seen as a rise.
  for (const kind of ['aborted', 'broken', 'unreached', 'upstream_error', 'model_refused'])
    upstreamFailures.cell(kind);
  const upstreamResponses = new CounterCells({
    registry,
    name: 'tidegate_gateway_upstream_responses_total',
    help: 'Answers from models by HTTP status. Unusual statuses are counted by class',
    labelNames: ['status'],
  });
  return { upstreamFailures, upstreamResponses, upstreamOk: upstreamResponses.cell('200') };
}
