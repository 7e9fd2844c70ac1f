// @ts-check
/**
 * The alerts. Each has a section of the same name in docs/runbooks.md. `page` wakes someone up,
 * `ticket` can wait for the morning.
 *
 * @typedef {'page' | 'ticket'} Severity
 * @typedef {{ name: string, expr: string, for: string, severity: Severity, summary: string }} Alert
 */
const COMPLETIONS = 'tidegate_gateway_requests_total{route="chat_completions"';
/** Not ours to repair: the client left, or an owner's model sleeps, starts or is stopped. */
const EXPECTED = 'code!~"client_closed|model_starting|model_unavailable|org_deleted"';
const FAILURES = `${COMPLETIONS},status=~"0|5..",${EXPECTED}}`;
/**
 * Models that failed and have not run since. One that starts again and again is starting in
 * between, for as long as a start takes.
 */
const FAILED =
  'max by (org, model) (max_over_time(tidegate_runner_model_condition{condition="failed"}[15m])) == 1 unless max by (org, model) (tidegate_runner_model_condition{condition=~"running|asleep|stopped"}) == 1';
const SERVICES = ['gateway', 'limiter', 'metering', 'runner', 'console'];

/** @type {readonly Alert[]} */
export const ALERTS = [
  {
    name: 'TidegateServiceAbsent',
    expr: SERVICES.map((name) => `absent(nodejs_eventloop_utilization_ratio{service="${name}"})`).join(
      ' or ',
    ),
    for: '2m',
    severity: 'page',
    summary: 'No {{ $labels.service }} reports metrics.',
  },
  {
    name: 'TidegateInstanceDown',
    expr: 'up{job=~"tidegate.*"} == 0',
    for: '2m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} of {{ $labels.job }} cannot be scraped.',
  },
  {
    name: 'TidegateErrors',
    // More than a few failures: where there are few requests, one of them is a large share.
    expr: `sum(rate(${FAILURES}[5m])) / sum(rate(${COMPLETIONS}}[5m])) > 0.05 and sum(increase(${FAILURES}[5m])) > 3`,
    for: '5m',
    severity: 'page',
    summary: 'More than 5 % of the completions fail: {{ $value | humanizePercentage }}.',
  },
  {
    name: 'TidegateInternalErrors',
    // A rate needs two samples, and Prometheus' usual interval is a minute.
    expr: 'sum by (instance) (rate(tidegate_gateway_requests_total{code="internal_error"}[2m])) > 0',
    for: '3m',
    severity: 'page',
    summary: '{{ $labels.instance }} answers 500.',
  },
  {
    name: 'TidegateNoLimiterSession',
    expr: 'tidegate_gateway_limiter_ready == 0',
    for: '30s',
    severity: 'page',
    summary: '{{ $labels.instance }} cannot use a limiter, and refuses all requests with 500.',
  },
  {
    name: 'TidegateLimiterSlow',
    expr: 'histogram_quantile(0.99, sum by (le) (rate(tidegate_gateway_limiter_call_seconds_bucket[5m]))) > 0.25',
    for: '5m',
    severity: 'ticket',
    summary: 'One limiter call in 100 takes longer than {{ $value | humanizeDuration }}.',
  },
  {
    name: 'TidegateCatalogStale',
    expr: 'tidegate_gateway_catalog_live == 0',
    for: '2m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} does not follow the runner, and serves from its last catalog.',
  },
  {
    name: 'TidegateGatewayNearLimit',
    expr: [
      'tidegate_gateway_requests_in_flight / tidegate_gateway_requests_in_flight_max > 0.8',
      'tidegate_gateway_connections / tidegate_gateway_connections_max > 0.8',
      'tidegate_gateway_body_bytes / tidegate_gateway_body_bytes_max > 0.8',
    ].join(' or '),
    for: '2m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} is at {{ $value | humanizePercentage }} of one of its limits.',
  },
  {
    name: 'TidegateBusy',
    expr: 'sum by (instance) (increase(tidegate_gateway_refusals_total{cause="busy"}[5m])) > 0',
    for: '2m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} refuses requests as busy.',
  },
  {
    name: 'TidegateSettlementsUnacknowledged',
    expr: 'tidegate_gateway_limiter_unacknowledged > 100',
    for: '2m',
    severity: 'ticket',
    summary: '{{ $labels.instance }} has {{ $value }} settlements that no limiter acknowledges.',
  },
  {
    name: 'TidegateModelUnreachable',
    // More than one call, because a server may restart at that moment.
    expr: 'sum by (org, model) (increase(tidegate_gateway_completions_total{result="failed"}[10m])) > 1.5 unless sum by (org, model) (increase(tidegate_gateway_completions_total{result=~"answered|broken_off"}[10m])) > 0',
    for: '2m',
    severity: 'page',
    summary: '{{ $labels.model }} answers no request.',
  },
  {
    name: 'TidegateModelFailed',
    expr: FAILED,
    for: '5m',
    severity: 'ticket',
    summary: '{{ $labels.model }} has failed.',
  },
  {
    name: 'TidegateFailedModelCalled',
    // More than one request, which a person who tries the model might send.
    expr: `(${FAILED}) and on (org, model) sum by (org, model) (increase(tidegate_gateway_completions_total[5m])) > 1.5`,
    for: '2m',
    severity: 'page',
    summary: '{{ $labels.model }} has failed, and callers ask for it.',
  },
  {
    name: 'TidegateAnswersBreakOff',
    // More than one answer, because one of two is already half.
    expr: 'sum by (org, model) (rate(tidegate_gateway_completions_total{result="broken_off"}[10m])) / sum by (org, model) (rate(tidegate_gateway_completions_total[10m])) > 0.1 and sum by (org, model) (increase(tidegate_gateway_completions_total{result="broken_off"}[10m])) > 1.5',
    for: '5m',
    severity: 'ticket',
    summary: '{{ $value | humanizePercentage }} of the answers from {{ $labels.model }} break off.',
  },
  {
    name: 'TidegateNoLeader',
    expr: 'max by (pool) (tidegate_runner_active) < 1 or max by (pool) (max_over_time(tidegate_runner_active[1h])) unless max by (pool) (tidegate_runner_active) >= 1',
    for: '30s',
    severity: 'page',
    summary:
      'No runner of the pool {{ $labels.pool }} leads: none of its models wakes, sleeps, starts or stops.',
  },
  {
    name: 'TidegatePoolFull',
    expr: 'max by (pool) (tidegate_runner_pool_waiting_models) > 0',
    for: '5m',
    severity: 'ticket',
    summary: '{{ $value }} models of the pool {{ $labels.pool }} wait for room in it.',
  },
  {
    name: 'TidegatePostgresDown',
    expr: 'min by (service) (tidegate_postgres_up) == 0',
    for: '1m',
    severity: 'page',
    summary: '{{ $labels.service }} gets no answer from Postgres.',
  },
  {
    name: 'TidegateRedisDown',
    expr: 'min by (service) (tidegate_redis_up) == 0',
    for: '30s',
    severity: 'page',
    summary: '{{ $labels.service }} gets no answer from Redis.',
  },
  {
    name: 'TidegateRedisNotDurable',
    expr: 'min(tidegate_redis_append_only) == 0 or max(tidegate_redis_evicts) == 1',
    for: '1m',
    severity: 'page',
    summary: 'A Redis server keeps no append-only file, cannot write to it, or may evict keys.',
  },
  {
    name: 'TidegateRecovering',
    expr: 'max(tidegate_limiter_recovering_organizations) > 0',
    for: '3m',
    severity: 'page',
    summary:
      '{{ $value }} organizations are recovering from a loss in Redis. Their requests are refused meanwhile.',
  },
  {
    name: 'TidegateChoreStopped',
    expr: 'time() - max by (chore) (tidegate_limiter_chore_last_run_timestamp_seconds) > 120',
    for: '1m',
    severity: 'ticket',
    summary: 'The {{ $labels.chore }} has not run for {{ $value | humanizeDuration }}.',
  },
  {
    name: 'TidegateOutboxOld',
    expr: 'max(tidegate_limiter_outbox_oldest_seconds) > 300',
    for: '2m',
    severity: 'ticket',
    summary: 'A settlement has waited {{ $value | humanizeDuration }} to be written to Postgres.',
  },
  {
    name: 'TidegateQueueOld',
    expr: 'max(tidegate_metering_oldest_job_seconds) > 120',
    for: '2m',
    severity: 'ticket',
    summary: 'A job has waited {{ $value | humanizeDuration }} for a metering worker.',
  },
  {
    name: 'TidegateDeadLetters',
    expr: 'max(tidegate_metering_jobs{state="failed"}) > 0',
    for: '1m',
    severity: 'ticket',
    summary: '{{ $value }} batches of settlements could not be written.',
  },
  {
    name: 'TidegateQuotaNearlyUsed',
    expr: 'max by (org, quota) (tidegate_limiter_quota_used_ratio) > 0.9',
    for: '5m',
    severity: 'ticket',
    summary:
      '{{ $labels.org }} has used {{ $value | humanizePercentage }} of its monthly {{ $labels.quota }}.',
  },
  {
    name: 'TidegateEventLoopBusy',
    expr: 'nodejs_eventloop_utilization_ratio > 0.9',
    for: '10m',
    severity: 'ticket',
    summary: '{{ $labels.service }} at {{ $labels.instance }} has used a whole core for 10 minutes.',
  },
];
