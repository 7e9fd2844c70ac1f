import { describe, expect, it } from '@jest/globals';
import { LimiterError } from '../limiter-error.ts';
import { ReadThrough } from './read-through.ts';

describe('reads while Postgres hangs', () => {
  it('time out, even those that wait for a place, and never run later; then others run', async () => {
    const reads = new ReadThrough({ maxRunning: 1, maxWaiting: 3, timeoutMs: 50 });
    let answer = () => {};
    const hanging = () => new Promise<void>((resolve) => (answer = resolve));
    let ran = 0;
    const outcomes = await Promise.allSettled([
      reads.read('hanging', hanging),
      ...Array.from({ length: 5 }, (_, i) => reads.read(`waiting ${i}`, async () => ran++)),
    ]);
    const reasons = outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason);
    expect(reasons.every((reason) => reason instanceof LimiterError)).toBe(true);
    expect(reasons.map(({ reason }) => reason)).toEqual([
      ...Array(4).fill('postgres'),
      'overloaded',
      'overloaded',
    ]);

    const next = reads.read('next', async () => 'read');
    answer();
    expect(await next).toBe('read');
    expect(ran).toBe(0);
  });
});
