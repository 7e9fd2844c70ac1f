import { describe, expect, it } from '@jest/globals';
import { SlowBodies } from './slow-bodies.ts';

describe('slow bodies of an organization', () => {
  it('use up their time after 20 ms in a second, but not that of other organizations, and get it back a second later', () => {
    let nowMs = 5_000;
    const slow = new SlowBodies(() => nowMs);
    for (let i = 0; i < 39; i++) slow.add('a', 0.5);
    expect(slow.isOverBudget('a')).toBe(false);
    nowMs += 999;
    slow.add('a', 0.5);
    expect([slow.isOverBudget('a'), slow.isOverBudget('b')]).toEqual([true, false]);
    nowMs += 1;
    expect(slow.isOverBudget('a')).toBe(false);
    for (let i = 0; i < 20; i++) slow.add('a', 1);
    expect(slow.isOverBudget('a')).toBe(true);
  });

  it('are not blamed for a pause of the process', () => {
    const slow = new SlowBodies(() => 0);
    slow.add('a', 5_000);
    expect(slow.isOverBudget('a')).toBe(false);
  });
});
