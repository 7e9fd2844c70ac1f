import { ERRORS, REFUSAL_CAUSES, type Refusal } from '@tidegate/contracts';
import {
  Counter,
  Gauge,
  Histogram,
  type LineFields,
  type LineLog,
  type Logger,
  type Registry,
} from '@tidegate/runtime';
import type { Exchange } from '../http/exchange.ts';
import type { CallOutcome } from '../upstream/call-outcome.ts';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

export interface ObservedParts {
  readonly limiter: { readonly ready: boolean; readonly unacknowledged: number };
  readonly watches: { readonly live: boolean };
}

/** What operators see of requests: counts, times, and one log line each. Never content or keys. */
export class Observer {
  readonly #log: Logger;
  readonly #line: LineLog;
  readonly #requests: Counter<'route' | 'status' | 'code'>;
  readonly #refusals: Counter<'code' | 'cause'>;
  readonly #seconds: Histogram<'route'>;
  readonly #firstChunk: Histogram;
  readonly #upstreamFailures: Counter<'kind'>;

  /** @param requestsInFlight completions that passed validation and have not ended */
  constructor(log: Logger, line: LineLog, registry: Registry, requestsInFlight: () => number) {
    this.#log = log;
    this.#line = line;
    const registers = [registry];
    this.#requests = new Counter({
      name: 'tidegate_gateway_requests_total',
      help: 'Requests answered; code is empty for answers that have begun, broken off or not',
      labelNames: ['route', 'status', 'code'],
      registers,
    });
    this.#refusals = new Counter({
      name: 'tidegate_gateway_refusals_total',
      help: 'Requests that a limit refused (429), by the limit',
      labelNames: ['code', 'cause'],
      registers,
    });
    for (const [code, causes] of Object.entries(REFUSAL_CAUSES))
      for (const cause of causes) this.#refusals.inc({ code, cause }, 0);
    this.#seconds = new Histogram({
      name: 'tidegate_gateway_request_seconds',
      help: 'From the head of the request to the end of its answer',
      labelNames: ['route'],
      buckets: SECONDS,
      registers,
    });
    this.#firstChunk = new Histogram({
      name: 'tidegate_gateway_first_chunk_seconds',
      help: 'From the head of the request to the first chunk of a stream',
      buckets: SECONDS,
      registers,
    });
    this.#upstreamFailures = new Counter({
      name: 'tidegate_gateway_upstream_failures_total',
      help: 'Calls to models that did not end in a complete answer',
      labelNames: ['kind'],
      registers,
    });
    new Gauge({
      name: 'tidegate_gateway_requests_in_flight',
      help: 'Completions past validation and not ended',
      registers,
      collect() {
        this.set(requestsInFlight());
      },
    });
  }

  upstreamEnded(outcome: CallOutcome): void {
    if (outcome.kind === 'whole' || outcome.kind === 'streamed') return;
    this.#upstreamFailures.inc({ kind: outcome.kind === 'refused' ? outcome.code : outcome.kind });
  }

  /** Records an exchange that is over. Its answer was sent or given up. */
  ended(exchange: Exchange): void {
    const { response, facts } = exchange;
    const { route, code, cause, startedAtMs, firstChunkAtMs } = facts;
    const ms = performance.now() - startedAtMs;
    const status = response.headersSent ? response.statusCode : 0;
    this.#requests.inc({ route, status, code: code ?? '' });
    if (code && cause) this.#refusals.inc({ code, cause });
    this.#seconds.observe({ route }, ms / 1_000);
    if (firstChunkAtMs !== null) this.#firstChunk.observe((firstChunkAtMs - startedAtMs) / 1_000);
    this.#line(fieldsOf(exchange, status, ms), 'request');
  }

  /** Records an answer without an exchange: the input was not HTTP, or did not arrive in time. */
  refusedRaw(requestId: string, { code, cause }: Refusal): void {
    const { status } = ERRORS[code];
    this.#requests.inc({ route: 'none', status, code });
    if (cause) this.#refusals.inc({ code, cause });
    this.#line({ requestId, route: 'none', status, code, cause }, 'request');
  }

  fault(exchange: Exchange, err: unknown): void {
    this.#log.error({ requestId: exchange.requestId, err }, 'a request failed by a fault of the gateway');
  }
}

/** Gauges for the services that a gateway depends on. */
export function observeParts(registry: Registry, { limiter, watches }: ObservedParts): void {
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name: `tidegate_gateway_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  gauge('limiter_ready', '1 while a limiter session is up', () => Number(limiter.ready));
  gauge('limiter_unacknowledged', 'Settlements and withdrawals being retried', () => limiter.unacknowledged);
  gauge('catalog_live', '1 while the catalog follows the runners of all pools', () => Number(watches.live));
}

const fieldsOf = (exchange: Exchange, status: number, ms: number): LineFields => ({
  requestId: exchange.requestId,
  method: exchange.request.method,
  route: exchange.facts.route,
  status,
  code: exchange.facts.code,
  cause: exchange.facts.cause,
  aborted: exchange.aborted?.reason,
  brokenOff: exchange.brokenOff || null,
  orgId: exchange.facts.orgId,
  keyId: exchange.facts.keyId,
  modelId: exchange.facts.modelId,
  streamed: exchange.facts.modelId ? exchange.facts.streamed : null,
  ms: Math.round(ms * 10) / 10,
});
