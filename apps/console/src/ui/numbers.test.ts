import { expect, it } from '@jest/globals';
import { duration, inColumn, share } from './numbers.ts';

it.each([
  [null, '–'],
  [0, '0 ms'],
  [999.4, '999 ms'],
  [999.6, '1.00 s'],
  [9_994, '9.99 s'],
  [9_995, '10.0 s'],
  [9_999, '10.0 s'],
  [12_400, '12.4 s'],
])('shows a duration of %s ms as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

it.each([
  [0, 100_000, '0.0% of requests'],
  [1, 100_000, '<0.1% of requests'],
  [1, 1_000, '0.1% of requests'],
  [996, 10_000, '10% of requests'],
  [99_999, 100_000, '100% of requests'],
  [0, 0, undefined],
])('shows %s of %s requests as %s', (part, requests, text) => {
  expect(share(part, requests)).toBe(text);
});

it.each([
  [99_999_999_999, '99,999,999,999'],
  [100_000_000_000, '100B'],
  [18_977_956_000_000, '19T'],
])('shows a count of %s in a column as %s', (value, text) => {
  expect(inColumn(value)).toBe(text);
});
