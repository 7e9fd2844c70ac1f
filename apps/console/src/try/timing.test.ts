import { expect, it } from '@jest/globals';
import { timingText } from './timing.ts';

it.each([
  [{ sentAt: 10, firstAt: 130, endedAt: 1_130 }, 43, '120 ms to the first token · 42.0 tokens/s'],
  [{ sentAt: 0, firstAt: 1_500, endedAt: 1_510 }, 43, '1.50 s to the first token'],
  [{ sentAt: 0, firstAt: 100, endedAt: 1_000 }, 1, '100 ms to the first token'],
  [{ sentAt: 0, firstAt: 100, endedAt: 1_000 }, null, '100 ms to the first token'],
  [{ sentAt: 0, firstAt: null, endedAt: 1_000 }, 0, ''],
])('the times of an answer %j with %s tokens are shown as: %s', (timing, tokens, text) => {
  expect(timingText(timing, tokens)).toBe(text);
});
