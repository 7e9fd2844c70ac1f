import { expect, it } from '@jest/globals';
import { createMetrics } from './metrics.ts';

it('the event loop is not reported as busy because two scrapes come at once', async () => {
  const registry = createMetrics('any');
  const utilization = async () =>
    Number((await registry.metrics()).match(/^nodejs_eventloop_utilization_ratio\{.*\} (\S+)$/m)?.[1]);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const first = await utilization();
  expect(first).toBeGreaterThan(0);
  expect(await utilization()).toBe(first);
});
