import { expect, it } from '@jest/globals';
import { isLive } from './rows.ts';

it('models are live while every runner reports how many of their requests are in flight', () => {
  expect(isLive([])).toBe(true);
  expect(isLive([{ inFlight: 0 }, { inFlight: 3 }])).toBe(true);
  expect(isLive([{ inFlight: 0 }, { inFlight: null }])).toBe(false);
});
