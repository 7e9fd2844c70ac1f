// @ts-check
/**
 * The dashboards. A panel is a title, a unit of Grafana, and expressions by legend.
 *
 * @typedef {readonly [title: string, unit: string, lines: Readonly<Record<string, string>>]} Panel
 */
const rate = (/** @type {string} */ metric, by = '') => `sum by (${by}) (rate(${metric}[$__rate_interval]))`;
const quantile = (/** @type {number} */ q, /** @type {string} */ metric, by = '') =>
  `histogram_quantile(${q}, ${rate(`${metric}_bucket`, by ? `le, ${by}` : 'le')})`;
const p50p99 = (/** @type {string} */ metric) => ({
  p50: quantile(0.5, metric),
  p99: quantile(0.99, metric),
});
const process = (/** @type {string} */ service) => [
  /** @type {Panel} */ ([
    'CPU',
    'percentunit',
    { '{{instance}}': `rate(process_cpu_seconds_total{service="${service}"}[$__rate_interval])` },
  ]),
  /** @type {Panel} */ ([
    'Memory',
    'bytes',
    { '{{instance}}': `process_resident_memory_bytes{service="${service}"}` },
  ]),
  /** @type {Panel} */ ([
    'Event loop busy',
    'percentunit',
    { '{{instance}}': `nodejs_eventloop_utilization_ratio{service="${service}"}` },
  ]),
];

/** @type {Readonly<Record<string, { title: string, panels: readonly Panel[] }>>} */
export const DASHBOARDS = {
  tidegate: {
    title: 'Tidegate',
    panels: [
      [
        'Requests by status',
        'reqps',
        { '{{status}} {{code}}': rate('tidegate_gateway_requests_total', 'status, code') },
      ],
      ['Refusals by cause', 'reqps', { '{{cause}}': rate('tidegate_gateway_refusals_total', 'cause') }],
      [
        'Completions by model',
        'reqps',
        { '{{org}} {{model}}': rate('tidegate_gateway_completions_total', 'org, model') },
      ],
      ['Tokens by kind', 'short', { '{{kind}}': rate('tidegate_gateway_tokens_total', 'kind') }],
      ['First chunk', 's', p50p99('tidegate_gateway_first_chunk_seconds')],
      ['In flight', 'short', { requests: 'sum(tidegate_gateway_requests_in_flight)' }],
      ['Models by condition', 'short', { '{{condition}}': 'sum by (condition) (tidegate_runner_models)' }],
      [
        'Stores',
        'short',
        {
          'Postgres for {{service}}': 'min by (service) (tidegate_postgres_up)',
          'Redis for {{service}}': 'min by (service) (tidegate_redis_up)',
        },
      ],
      [
        'Oldest',
        's',
        {
          request: 'max(tidegate_gateway_oldest_request_seconds)',
          'outbox entry': 'max(tidegate_limiter_outbox_oldest_seconds)',
          job: 'max(tidegate_metering_oldest_job_seconds)',
        },
      ],
      [
        'Month used',
        'percentunit',
        { '{{org}} {{quota}}': 'max by (org, quota) (tidegate_limiter_quota_used_ratio)' },
      ],
      [
        'CPU by service',
        'percentunit',
        { '{{service}}': rate('process_cpu_seconds_total{service=~".+"}', 'service') },
      ],
    ],
  },
  gateway: {
    title: 'Tidegate: gateway',
    panels: [
      [
        'Requests by status',
        'reqps',
        { '{{route}} {{status}}': rate('tidegate_gateway_requests_total', 'route, status') },
      ],
      [
        'Errors and refusals by code',
        'reqps',
        { '{{code}}': rate('tidegate_gateway_requests_total{code!=""}', 'code') },
      ],
      ['Phases, p99', 's', { '{{phase}}': quantile(0.99, 'tidegate_gateway_phase_seconds', 'phase') }],
      [
        'First chunk by model, p99',
        's',
        { '{{org}} {{model}}': quantile(0.99, 'tidegate_gateway_first_chunk_seconds', 'org, model') },
      ],
      [
        'Time per token by model, p50',
        's',
        { '{{org}} {{model}}': quantile(0.5, 'tidegate_gateway_token_seconds', 'org, model') },
      ],
      [
        'Tokens by model',
        'short',
        { '{{org}} {{model}} {{kind}}': rate('tidegate_gateway_tokens_total', 'org, model, kind') },
      ],
      [
        'Endings by model',
        'reqps',
        { '{{org}} {{model}} {{result}}': rate('tidegate_gateway_completions_total', 'org, model, result') },
      ],
      [
        'Answers of models by status',
        'reqps',
        { '{{status}}': rate('tidegate_gateway_upstream_responses_total', 'status') },
      ],
      [
        'Failures of models',
        'reqps',
        { '{{kind}}': rate('tidegate_gateway_upstream_failures_total', 'kind') },
      ],
      [
        'In flight by model',
        'short',
        { '{{org}} {{model}}': 'sum by (org, model) (tidegate_gateway_model_requests_in_flight)' },
      ],
      [
        'Waiting for a model to wake',
        'short',
        { '{{org}} {{model}}': 'sum by (org, model) (tidegate_gateway_model_waiters)' },
      ],
      [
        'Replicas',
        'short',
        {
          '{{org}} {{model}} usable': 'min by (org, model) (tidegate_gateway_model_replicas{state="usable"})',
          '{{org}} {{model}} ejected':
            'max by (org, model) (tidegate_gateway_model_replicas{state="ejected"})',
        },
      ],
      ['Limiter calls', 's', p50p99('tidegate_gateway_limiter_call_seconds')],
      [
        'Unanswered limiter calls',
        'reqps',
        { '{{instance}}': rate('tidegate_gateway_limiter_unanswered_total', 'instance') },
      ],
      [
        'Share of limits',
        'percentunit',
        {
          'requests {{instance}}':
            'tidegate_gateway_requests_in_flight / tidegate_gateway_requests_in_flight_max',
          'connections {{instance}}': 'tidegate_gateway_connections / tidegate_gateway_connections_max',
          'bodies {{instance}}': 'tidegate_gateway_body_bytes / tidegate_gateway_body_bytes_max',
        },
      ],
      ['Unacknowledged settlements', 'short', { '{{instance}}': 'tidegate_gateway_limiter_unacknowledged' }],
      [
        'Oldest',
        's',
        {
          'request {{instance}}': 'tidegate_gateway_oldest_request_seconds',
          'reservation {{instance}}': 'tidegate_gateway_oldest_reservation_seconds',
        },
      ],
      ...process('gateway'),
    ],
  },
  limiter: {
    title: 'Tidegate: limiter',
    panels: [
      [
        'Decisions',
        'ops',
        { '{{call}} {{outcome}}': rate('tidegate_limiter_decisions_total', 'call, outcome') },
      ],
      ['Decisions, p99', 's', { '{{call}}': quantile(0.99, 'tidegate_limiter_decision_seconds', 'call') }],
      ['Failures', 'ops', { '{{reason}}': rate('tidegate_limiter_failures_total', 'reason') }],
      ['Redis pipelines', 's', p50p99('tidegate_limiter_redis_seconds')],
      [
        'Redis commands',
        'ops',
        { '{{instance}}': rate('tidegate_limiter_redis_commands_total', 'instance') },
      ],
      [
        'Sessions and leases',
        'short',
        { 'sessions {{instance}}': 'tidegate_limiter_sessions', leases: 'max(tidegate_limiter_leases)' },
      ],
      ['Open calls', 'short', { '{{instance}}': 'tidegate_limiter_open_calls' }],
      ['Chores: holder', 'short', { '{{chore}} {{instance}}': 'tidegate_limiter_chore_held' }],
      [
        'Chores: last run',
        's',
        { '{{chore}}': 'time() - max by (chore) (tidegate_limiter_chore_last_run_timestamp_seconds)' },
      ],
      ['Left by dead gateways', 'ops', { '{{end}}': rate('tidegate_limiter_reaped_total', 'end') }],
      ['Outbox', 's', { 'oldest entry': 'max(tidegate_limiter_outbox_oldest_seconds)' }],
      [
        'Left to the sweep, and republished',
        'ops',
        {
          left: rate('tidegate_limiter_unpublished_total'),
          republished: rate('tidegate_limiter_republished_total'),
        },
      ],
      [
        'Recovering organizations',
        'short',
        { organizations: 'max(tidegate_limiter_recovering_organizations)' },
      ],
      ['Append-only file', 'short', { '{{instance}}': 'tidegate_redis_append_only' }],
      ['Redis may evict keys', 'short', { '{{instance}}': 'tidegate_redis_evicts' }],
      ...process('limiter'),
    ],
  },
  metering: {
    title: 'Tidegate: metering',
    panels: [
      ['Settlements', 'ops', { '{{result}}': rate('tidegate_metering_settlements_total', 'result') }],
      ['From the end of a request to its commit', 's', p50p99('tidegate_metering_lag_seconds')],
      ['Transactions', 's', p50p99('tidegate_metering_write_seconds')],
      [
        'Settlements in a transaction, average',
        'short',
        {
          rows: `${rate('tidegate_metering_batch_rows_sum')} / ${rate('tidegate_metering_batch_rows_count')}`,
        },
      ],
      [
        'Jobs',
        'short',
        {
          '{{state}}': 'max by (state) (tidegate_metering_jobs)',
          'active, limit': 'sum(tidegate_metering_active_jobs_max)',
        },
      ],
      ['Oldest job', 's', { job: 'max(tidegate_metering_oldest_job_seconds)' }],
      [
        'Failures',
        'ops',
        {
          attempts: rate('tidegate_metering_failed_attempts_total'),
          'dead letters': rate('tidegate_metering_dead_letters_total'),
          unconfirmed: rate('tidegate_metering_unconfirmed_total'),
        },
      ],
      ...process('metering'),
    ],
  },
  runner: {
    title: 'Tidegate: runner',
    panels: [
      ['Models by condition', 'short', { '{{condition}}': 'sum by (condition) (tidegate_runner_models)' }],
      [
        'Condition of each model',
        'short',
        {
          '{{org}} {{model}} {{condition}}':
            'max by (org, model, condition) (tidegate_runner_model_condition)',
        },
      ],
      [
        'Replicas: up of total',
        'short',
        {
          '{{org}} {{model}} up': 'max by (org, model) (tidegate_runner_model_replicas)',
          '{{org}} {{model}} total': 'max by (org, model) (tidegate_runner_model_replicas_all)',
        },
      ],
      [
        'In flight',
        'short',
        { '{{org}} {{model}}': 'max by (org, model) (tidegate_runner_model_requests_in_flight)' },
      ],
      [
        'Callers that wait for a model',
        'short',
        { '{{org}} {{model}}': 'max by (org, model) (tidegate_runner_model_waiters)' },
      ],
      ['Starts', 'ops', { '{{result}}': rate('tidegate_runner_starts_total', 'result') }],
      ['Time to start', 's', p50p99('tidegate_runner_start_seconds')],
      ['Wakes', 'ops', { '{{result}}': rate('tidegate_runner_wakes_total', 'result') }],
      ['Sleeps', 'ops', { '{{result}}': rate('tidegate_runner_sleeps_total', 'result') }],
      ['Failed probes', 'ops', { '{{driver}}': rate('tidegate_runner_probe_failures_total', 'driver') }],
      [
        'Pools: share of the capacity',
        'percentunit',
        { '{{pool}}': 'max by (pool) (tidegate_runner_pool_used / tidegate_runner_pool_capacity)' },
      ],
      [
        'Pools: models that wait for room',
        'short',
        { '{{pool}}': 'max by (pool) (tidegate_runner_pool_waiting_models)' },
      ],
      ['Leading runner', 'short', { '{{pool}} {{instance}}': 'tidegate_runner_active' }],
      ['Gateways', 'short', { '{{instance}}': 'tidegate_runner_gateways' }],
      ...process('runner'),
    ],
  },
  console: {
    title: 'Tidegate: console',
    panels: [
      ['Postgres', 'short', { '{{instance}}': 'tidegate_postgres_up{service="console"}' }],
      ...process('console'),
    ],
  },
};

const COLUMNS = 2;
const [WIDTH, HEIGHT] = [24 / COLUMNS, 8];

/** A dashboard as Grafana imports it. Grafana asks for the data source. */
export function toGrafana(/** @type {string} */ id) {
  const { title, panels } = /** @type {typeof DASHBOARDS[string]} */ (DASHBOARDS[id]);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Grafana
  const datasource = { type: 'prometheus', uid: '${datasource}' };
  return {
    uid: `tidegate-${id}`,
    title,
    tags: ['tidegate'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' }],
    },
    panels: panels.map(([name, unit, lines], i) => ({
      id: i + 1,
      type: 'timeseries',
      title: name,
      datasource,
      gridPos: { w: WIDTH, h: HEIGHT, x: (i % COLUMNS) * WIDTH, y: Math.floor(i / COLUMNS) * HEIGHT },
      fieldConfig: {
        defaults: { unit, min: 0, custom: { fillOpacity: 10, showPoints: 'never' } },
        overrides: [],
      },
      options: {
        legend: { displayMode: 'list', placement: 'bottom' },
        tooltip: { mode: 'multi', sort: 'desc' },
      },
      targets: Object.entries(lines).map(([legendFormat, expr], line) => ({
        refId: String.fromCharCode('A'.charCodeAt(0) + line),
        datasource,
        expr,
        legendFormat,
      })),
    })),
  };
}
