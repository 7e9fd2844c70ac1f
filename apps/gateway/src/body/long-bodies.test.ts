import { describe, expect, it } from '@jest/globals';
import { LongBodies } from './long-bodies.ts';

describe('long bodies of an organization', () => {
  it('use up their time after 20 ms in a second, but not that of other organizations, and get it back a second later', () => {
    let nowMs = 5_000;
    const long = new LongBodies(() => nowMs);
    for (let i = 0; i < 39; i++) long.add('a', 0.5);
    expect(long.isOverBudget('a')).toBe(false);
    nowMs += 999;
    long.add('a', 0.5);
    expect([long.isOverBudget('a'), long.isOverBudget('b')]).toEqual([true, false]);
    nowMs += 1;
    expect(long.isOverBudget('a')).toBe(false);
    for (let i = 0; i < 20; i++) long.add('a', 1);
    expect(long.isOverBudget('a')).toBe(true);
  });

  it('are not blamed for a pause of the process', () => {
    const long = new LongBodies(() => 0);
    long.add('a', 5_000);
    expect(long.isOverBudget('a')).toBe(false);
  });
});
