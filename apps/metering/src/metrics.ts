import {
  Counter,
  createMetrics,
  Histogram,
  observeStore,
  type Registry,
  readGauge,
  readGauges,
} from '@tidegate/runtime';

export interface MeteringMetrics {
  readonly registry: Registry;
  readonly lagSeconds: Histogram;
  readonly batchRows: Histogram;
  readonly writeSeconds: Histogram;
  readonly settlements: Counter<'result'>;
  readonly failedAttempts: Counter;
  readonly deadLetters: Counter;
  readonly unconfirmed: Counter;
}

/** What is read at each scrape. A rejection leaves the metric out. */
export interface MeteringReadings {
  /** The queue's jobs by state. */
  readonly jobCounts: () => Promise<Record<string, number>>;
  /** How long the next job of the queue has been waiting. 0: none is. */
  readonly oldestJobS: () => Promise<number>;
  /** How many jobs this process works on at once, at most. */
  readonly concurrency: number;
  readonly pingRedis: () => Promise<unknown>;
  readonly pingPostgres: () => Promise<unknown>;
}

export function createMeteringMetrics(readings: MeteringReadings): MeteringMetrics {
  const registry = createMetrics('metering');
  observeReadings(registry, readings);
  const registers = [registry];
  return {
    registry,
    lagSeconds: new Histogram({
      name: 'tidegate_metering_lag_seconds',
      help: 'Time from the end of a request to its commit.',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600],
      registers,
    }),
    batchRows: new Histogram({
      name: 'tidegate_metering_batch_rows',
      help: 'Settlements in one transaction.',
      buckets: [1, 10, 50, 100, 250, 500, 1000, 2000],
      registers,
    }),
    writeSeconds: new Histogram({
      name: 'tidegate_metering_write_seconds',
      help: 'Duration of one transaction.',
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers,
    }),
    settlements: new Counter({
      name: 'tidegate_metering_settlements_total',
      help: 'Settlements committed: new ones, and duplicates of earlier ones.',
      labelNames: ['result'],
      registers,
    }),
    failedAttempts: new Counter({
      name: 'tidegate_metering_failed_attempts_total',
      help: 'Failed attempts at jobs that will be tried again.',
      registers,
    }),
    deadLetters: new Counter({
      name: 'tidegate_metering_dead_letters_total',
      help: 'Jobs that became dead letters.',
      registers,
    }),
    unconfirmed: new Counter({
      name: 'tidegate_metering_unconfirmed_total',
      help: 'Committed settlements that could not be confirmed to the limiter. It publishes them again.',
      registers,
    }),
  };
}

function observeReadings(registry: Registry, readings: MeteringReadings): void {
  readGauges(
    {
      registry,
      name: 'tidegate_metering_jobs',
      help: 'Jobs in the settlement queue by state. Failed jobs are dead letters.',
      labelNames: ['state'],
    },
    async () => Object.entries(await readings.jobCounts()).map(([name, count]) => [{ state: name }, count]),
  );
  readGauge(
    {
      registry,
      name: 'tidegate_metering_oldest_job_seconds',
      help: 'How long the next job of the settlement queue has been waiting. 0 if none is.',
    },
    readings.oldestJobS,
  );
  readGauge(
    {
      registry,
      name: 'tidegate_metering_active_jobs_max',
      help: 'The most jobs that this process works on at once. The active jobs of the queue are those of all processes.',
    },
    () => readings.concurrency,
  );
  observeStore(registry, 'redis', readings.pingRedis);
  observeStore(registry, 'postgres', readings.pingPostgres);
}
