import { collectDefaultMetrics, Registry } from 'prom-client';

export { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** The monitor wakes the process this often; at its default of 10 ms it is most of what a service at rest costs. */
const EVENT_LOOP_SAMPLE_MS = 500;

/** A registry with the process's own metrics; every series carries `service`. Labels hold no ids and no content. */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS });
  return registry;
}
