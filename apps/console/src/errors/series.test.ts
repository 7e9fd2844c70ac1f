import { expect, it } from '@jest/globals';
import { seriesOf } from './series.ts';

it('the chart draws the most frequent codes, and the others as one series, without losing an error', () => {
  const codes = ['a', 'b', 'c', 'd', 'e', 'f'].map((code, i) => ({ code, errors: 9 - i }));
  const steps = [
    { at: '2026-11-21T00:00:00.000Z', codes: { a: 2, d: 1, e: 3, f: 4 } },
    { at: '2026-11-22T00:00:00.000Z', codes: {} },
  ];
  const { series, bars } = seriesOf({ codes, steps });
  expect(series.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'Others']);
  expect(bars.map(({ heights, total }) => [heights, total])).toEqual([
    [[2, 0, 0, 1, 7], 10],
    [[0, 0, 0, 0, 0], 0],
  ]);
});

it('the chart has no series for others if there are none', () => {
  const steps = [{ at: '2026-11-21T00:00:00.000Z', codes: { a: 1 } }];
  const { series, bars } = seriesOf({ codes: [{ code: 'a', errors: 1 }], steps });
  expect(series.map(({ name }) => name)).toEqual(['a']);
  expect(bars[0]?.heights).toEqual([1]);
});
