import { expect, it } from '@jest/globals';
import { testClock } from './clock.ts';

it('a test clock moves only when told to', () => {
  const clock = testClock(1_000);
  expect(clock.now()).toBe(1_000);
  clock.advance(60_000);
  expect([clock.now(), clock.now()]).toEqual([61_000, 61_000]);
  clock.set(5);
  expect(clock.now()).toBe(5);
});
