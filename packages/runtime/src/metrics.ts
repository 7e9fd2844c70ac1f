import { performance } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

export { Counter, Gauge, Histogram, Registry } from 'prom-client';

/**
 * prom-client's lag monitor wakes a process at rest every 10 ms, and counts its own interval as lag when it is longer. So
 * it hardly runs here, and its series are left out.
 */
const MONITOR_MS = 3_600_000;
const MONITORED = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];

/** A registry with the process's own metrics; every series carries `service`. Labels hold no ids and no content. */
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
