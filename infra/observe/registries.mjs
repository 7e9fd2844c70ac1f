// @ts-check
/*
 * The metrics that each service registers, from the built services. Nothing is started and nothing
 * is read: registering a metric needs no more than its name.
 */
const nothing = /** @type {any} */ ({});
const dist = (/** @type {string} */ path) => import(new URL(`../../${path}`, import.meta.url).href);

/**
 * @typedef {{ name: string, help: string, type: string, labels: string[] }} MetricInfo
 * @returns {Promise<Record<string, MetricInfo[]>>} by service; `every` has what all services have
 */
export async function registered() {
  const { createMetrics, observeStore } = await dist('packages/runtime/dist/index.js');
  const { registerSpanCounter } = await dist('packages/tracing/dist/index.js');
  const observer = await dist('apps/gateway/dist/observe/observer.js');
  const gauges = await dist('apps/gateway/dist/observe/gauges.js');
  const { Catalog } = await dist('apps/gateway/dist/catalog/catalog.js');
  const limiter = await dist('apps/limiter/dist/metrics.js');
  const limiterState = await dist('apps/limiter/dist/state-metrics.js');
  const metering = await dist('apps/metering/dist/metrics.js');
  const runner = await dist('apps/runner/dist/metrics.js');

  const create = (/** @type {(registry: any) => void} */ register) => {
    const registry = createMetrics('any');
    register(registry);
    return infosOf(registry);
  };
  const every = create(() => {});
  const { registry: meteringRegistry } = metering.createMeteringMetrics(nothing);
  registerSpanCounter(meteringRegistry);
  const all = {
    gateway: create((registry) => {
      registerSpanCounter(registry);
      new observer.Observer({ registry, catalog: new Catalog() });
      gauges.observeParts(registry, { gateway: { config: {} } });
    }),
    limiter: create((registry) => {
      registerSpanCounter(registry);
      limiter.createLimiterMetrics(registry);
      limiterState.observeLimiter(registry, nothing);
    }),
    metering: infosOf(meteringRegistry),
    runner: create((registry) => {
      registerSpanCounter(registry);
      runner.createRunnerMetrics(registry);
      runner.observeRunner(registry, nothing);
      observeStore(registry, 'postgres', nothing);
    }),
    console: create((registry) => observeStore(registry, 'postgres', nothing)),
  };
  const common = new Set(every.map(({ name }) => name));
  const own = (/** @type {MetricInfo[]} */ infos) => infos.filter(({ name }) => !common.has(name));
  return { ...Object.fromEntries(Object.entries(all).map(([name, infos]) => [name, own(infos)])), every };
}

/** @returns {MetricInfo[]} */
const infosOf = (/** @type {any} */ registry) =>
  registry
    .getMetricsAsArray()
    .map((/** @type {any} */ { name, help, type, labelNames = [] }) => ({
      name,
      help,
      type,
      labels: [...labelNames],
    }))
    .sort((/** @type {MetricInfo} */ a, /** @type {MetricInfo} */ b) => (a.name < b.name ? -1 : 1));
