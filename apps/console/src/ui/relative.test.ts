import { describe, expect, it } from '@jest/globals';
import { ago, span } from './relative.ts';

const NOW = Date.UTC(2026, 10, 22, 12);
const before = (s: number) => ago(NOW - s * 1_000, NOW);

describe('a time', () => {
  it.each([
    [-30, 'just now'],
    [0, 'just now'],
    [44, 'just now'],
    [45, '1 minute ago'],
    [119, '1 minute ago'],
    [3_599, '59 minutes ago'],
    [3_600, '1 hour ago'],
    [86_399, '23 hours ago'],
    [86_400, '1 day ago'],
    [30 * 86_400 - 1, '29 days ago'],
    [30 * 86_400, null],
    [-60, null],
  ])('%s s ago is shown as %s', (s, told) => expect(before(s)).toBe(told));
});

it('a length of time is given in its largest whole unit', () => {
  expect([-1, 400, 59_400, 60_000, 3_599_999, 7_200_000, 86_400_000, 3 * 86_400_000].map(span)).toEqual([
    ...['0 s', '0 s', '59 s', '1 min', '59 min', '2 h', '1 day', '3 days'],
  ]);
});
