import { Counter, createMetrics, Gauge, Histogram, type Registry } from '@tidegate/runtime';

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

/** @param jobCounts jobs of the queue by state, asked for at each scrape; rejects while the queue is away */
export function createMeteringMetrics(jobCounts: () => Promise<Record<string, number>>): MeteringMetrics {
  const registry = createMetrics('metering');
  const registers = [registry];
  new Gauge({
    name: 'tidegate_metering_jobs',
    help: 'Jobs of the settlement queue by state; failed ones are dead letters.',
    labelNames: ['state'],
    registers,
    async collect() {
      // While the queue is away there is no sample at all: an old one would look like a true one.
      this.reset();
      for (const [state, count] of Object.entries(await jobCounts())) this.set({ state }, count);
    },
  });
  return {
    registry,
    lagSeconds: new Histogram({
      name: 'tidegate_metering_lag_seconds',
      help: 'From the end of a request to its commit.',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600],
      registers,
    }),
    batchRows: new Histogram({
      name: 'tidegate_metering_batch_rows',
      help: 'Settlements of one transaction.',
      buckets: [1, 10, 50, 100, 250, 500, 1000, 2000],
      registers,
    }),
    writeSeconds: new Histogram({
      name: 'tidegate_metering_write_seconds',
      help: 'Time of one transaction.',
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
      registers,
    }),
    settlements: new Counter({
      name: 'tidegate_metering_settlements_total',
      help: 'Settlements committed: new ones, and duplicates that were there already.',
      labelNames: ['result'],
      registers,
    }),
    failedAttempts: new Counter({
      name: 'tidegate_metering_failed_attempts_total',
      help: 'Attempts at a job that failed and are tried again.',
      registers,
    }),
    deadLetters: new Counter({
      name: 'tidegate_metering_dead_letters_total',
      help: 'Jobs that went to the dead letters.',
      registers,
    }),
    unconfirmed: new Counter({
      name: 'tidegate_metering_unconfirmed_total',
      help: 'Committed settlements that the limiter could not be told of; it publishes them again.',
      registers,
    }),
  };
}
