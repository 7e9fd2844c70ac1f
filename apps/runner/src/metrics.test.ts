import { expect, it } from '@jest/globals';
import { createMetrics } from '@tidegate/runtime';
import { createRunnerMetrics } from './metrics.ts';

it.each([
  ...['running', 'failed', 'stopped'].map((result) => ['starts', 'result', result]),
  ...['asleep', 'called_off'].map((result) => ['sleeps', 'result', result]),
  ...['external', 'process', 'kubernetes'].map((driver) => ['probe_failures', 'driver', driver]),
])(
  'a runner that has just started has a series for %s with the %s %s, so that the first one is seen as a rise',
  async (name, label, value) => {
    const registry = createMetrics('runner');
    createRunnerMetrics(registry);
    expect(await registry.metrics()).toContain(
      `tidegate_runner_${name}_total{${label}="${value}",service="runner"} 0`,
    );
  },
);
