import { performance } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

export { Counter, Gauge, Histogram, Registry } from 'prom-client';

/**
 * prom-client's lag monitor wakes an idle process every 10 ms. With a longer interval it counts the
 * interval as lag. So it hardly ever runs here, and its series are removed.
 */
const MONITOR_MS = 3_600_000;
const MONITORED = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];

/** Creates a registry with the process's own metrics. Every series has the label `service`. */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: MONITOR_MS });
  for (const name of MONITORED) registry.removeSingleMetric(`nodejs_eventloop_lag_${name}_seconds`);
  let before = performance.eventLoopUtilization();
  new Gauge({
    name: 'nodejs_eventloop_utilization_ratio',
    help: 'Share of the time since the last scrape in which the event loop was busy',
    registers: [registry],
    collect() {
      const now = performance.eventLoopUtilization();
      this.set(performance.eventLoopUtilization(now, before).utilization);
      before = now;
    },
  });
  return registry;
}
