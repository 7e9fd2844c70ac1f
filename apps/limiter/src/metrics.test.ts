import { describe, expect, it } from '@jest/globals';
import { createMetrics } from '@tidegate/runtime';
import { CHORES, createLimiterMetrics } from './metrics.ts';

/** The samples of a limiter that has just started, by name and labels. */
async function atStart(): Promise<Map<string, number>> {
  const registry = createMetrics('limiter');
  createLimiterMetrics(registry);
  const lines = (await registry.metrics()).split('\n').filter((line) => !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

describe('a limiter that has just started', () => {
  it.each(CHORES)('has a time for the %s, so that an alert sees one that never succeeds', async (chore) => {
    const name = `tidegate_limiter_chore_last_run_timestamp_seconds{chore="${chore}",service="limiter"}`;
    expect(Math.abs(Date.now() / 1_000 - ((await atStart()).get(name) ?? 0))).toBeLessThan(60);
  });

  it.each([
    ...['settled', 'withdrawn'].map((end) => ['reaped', 'end', end]),
    ...['redis', 'postgres', 'overloaded', 'state', 'bad_call', 'internal'].map((reason) => [
      'failures',
      'reason',
      reason,
    ]),
  ])(
    'has a series for %s with the %s %s, so that the first one is seen as a rise',
    async (name, label, value) => {
      const series = `tidegate_limiter_${name}_total{${label}="${value}",service="limiter"}`;
      expect((await atStart()).get(series)).toBe(0);
    },
  );
});
