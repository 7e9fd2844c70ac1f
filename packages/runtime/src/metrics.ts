import { performance } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { version } from './version.ts';
import { answerWithin } from './within.ts';

export { Counter, Gauge, Histogram, Registry } from 'prom-client';

/**
 * prom-client's lag monitor wakes an idle process every 10 ms. With a longer interval it counts the
 * interval as lag. So it hardly ever runs here, and its series are removed.
 */
const MONITOR_MS = 3_600_000;
const MONITORED = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];

/** The shortest time over which the use of the event loop is measured. */
const MEASURED_MS = 1_000;

/** Creates a registry with the process's own metrics. Every series has the label `service`. */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: MONITOR_MS });
  for (const name of MONITORED) registry.removeSingleMetric(`nodejs_eventloop_lag_${name}_seconds`);
  let before = performance.eventLoopUtilization();
  new Gauge({
    name: 'nodejs_eventloop_utilization_ratio',
    help: 'Share of the time since the last scrape in which the event loop was busy. A scrape within a second of the last one gets the same value',
    registers: [registry],
    collect() {
      const now = performance.eventLoopUtilization();
      const since = performance.eventLoopUtilization(now, before);
      // Between two scrapes at once there is only the work of the first one.
      if (since.idle + since.active < MEASURED_MS) return;
      this.set(since.utilization);
      before = now;
    },
  });
  new Gauge({
    name: 'tidegate_build_info',
    help: 'Always 1. The labels name the release, and the version of Node that runs it',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.versions.node }, 1);
  return registry;
}

/** A slower answer counts as none. */
const ANSWER_MS = 1_500;

export interface ReadGauge<L extends string = never> {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly L[];
}

type Samples<L extends string> = Iterable<readonly [labels: Readonly<Record<L, string>>, value: number]>;

/**
 * A gauge without labels that is read at each scrape. It has no sample when the value is null, is
 * late or cannot be read: an old one would look current.
 */
export function readGauge(
  { registry, name, help }: ReadGauge,
  read: () => number | null | Promise<number | null>,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      const value = await inTime(read);
      this.remove();
      if (value !== null) this.set(value);
    },
  });
}

/** As `readGauge`, with one sample for each set of labels. */
export function readGauges<L extends string>(
  { registry, name, help, labelNames = [] }: ReadGauge<L>,
  read: () => Samples<L> | Promise<Samples<L>>,
): void {
  new Gauge<L>({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    async collect() {
      const samples = (await inTime(read)) ?? [];
      this.reset();
      for (const [labels, value] of samples) this.set(labels as never, value);
    },
  });
}

/** Reports at each scrape whether a store answers. */
export function observeStore(
  registry: Registry,
  store: 'postgres' | 'redis',
  ask: () => Promise<unknown>,
): void {
  const help = `1 while ${store === 'redis' ? 'Redis' : 'Postgres'} answers this process, 0 while it does not`;
  readGauge({ registry, name: `tidegate_${store}_up`, help }, async () =>
    Number((await inTime(() => ask().then(() => true))) ?? false),
  );
}

/** Null if it fails or is late. */
const inTime = <T>(read: () => T | Promise<T>): Promise<T | null> => answerWithin(read, ANSWER_MS, null);
