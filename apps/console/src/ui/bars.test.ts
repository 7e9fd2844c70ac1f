import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { countTicks } from './bars.ts';

it.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [3, [0, 1, 2, 3]],
  [7, [0, 2, 4, 6, 8]],
  [144, [0, 50, 100, 150]],
  [3_740, [0, 1_000, 2_000, 3_000, 4_000]],
  [22_589, [0, 5_000, 10_000, 15_000, 20_000, 25_000]],
  [1_200_000, [0, 250_000, 500_000, 750_000, 1_000_000, 1_250_000]],
])('a grid for counts up to %i has lines at round numbers', (highest, ticks) => {
  expect(countTicks(highest)).toEqual(ticks);
});

it('a grid has few lines, at whole numbers, and hardly more room than its counts need', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000_000_000 }), (highest) => {
      const ticks = countTicks(highest);
      expect(ticks.every((tick) => Number.isInteger(tick))).toBe(true);
      expect(ticks.length).toBeLessThanOrEqual(6);
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(highest);
      expect(ticks.at(-2)).toBeLessThan(highest);
    }),
  );
});
