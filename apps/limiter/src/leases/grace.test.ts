import { describe, expect, it } from '@jest/globals';
import { Grace } from './grace.ts';

describe('the grace of a limiter', () => {
  const graceAt = () => {
    const clock = { ms: 0 };
    const grace = new Grace({ graceMs: 8_000, maxGapMs: 3_000, nowMs: () => clock.ms });
    const overAt = (ms: number): boolean => {
      clock.ms = ms;
      return grace.over();
    };
    return { grace, overAt };
  };

  it('ends when Redis has been watched long enough', () => {
    const { overAt } = graceAt();
    expect([0, 2_000, 4_000, 6_000, 7_999, 8_000].map(overAt)).toEqual([
      false,
      false,
      false,
      false,
      false,
      true,
    ]);
  });

  it('begins anew when Redis was lost, and when this process stood still', () => {
    const { grace, overAt } = graceAt();
    for (let ms = 0; ms <= 8_000; ms += 1_000) overAt(ms);
    grace.lost();
    expect(overAt(8_500)).toBe(false);
    for (let ms = 9_000; ms <= 16_000; ms += 1_000) expect(overAt(ms)).toBe(false);
    expect(overAt(16_500)).toBe(true);
    expect(overAt(36_500)).toBe(false);
  });
});
