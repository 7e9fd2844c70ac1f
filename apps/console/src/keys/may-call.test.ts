import { expect, it } from '@jest/globals';
import { shortMayCall } from './may-call.ts';

it('a row names the first three models that a key may call, and counts the others', () => {
  const of = (count: number, deleted = 0) =>
    shortMayCall({ all: false, models: Array.from({ length: count }, (_, i) => `m${i + 1}`), deleted });
  expect(of(30)).toBe('m1, m2, m3 and 27 more');
  expect(of(30, 2)).toBe('m1, m2, m3 and 27 more, 2 deleted');
  expect(of(4)).toBe('m1, m2, m3, m4');
  expect(of(3, 2)).toBe('m1, m2, m3, 2 deleted');
  expect(shortMayCall({ all: true, models: [], deleted: 0 })).toBe('All models');
});
