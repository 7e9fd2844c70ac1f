import { beforeEach, describe, expect, it } from '@jest/globals';
import { Histogram, Registry } from 'prom-client';
import { CounterCells, HistogramCells } from './cells.ts';

let registry: Registry;
beforeEach(() => {
  registry = new Registry();
  registry.setDefaultLabels({ service: 's' });
});

describe('a counter of cells', () => {
  it('is exposed like any counter, one series for each set of values', async () => {
    const cells = new CounterCells({ registry, name: 'c_total', help: 'C.', labelNames: ['a', 'b'] });
    cells.cell('1', 'x"y').value += 2;
    cells.cell('1', 'x"y').value++;
    cells.cell('2', '');
    expect(await registry.metrics()).toBe(
      [
        '# HELP c_total C.',
        '# TYPE c_total counter',
        'c_total{a="1",b="x\\"y",service="s"} 3',
        'c_total{a="2",b="",service="s"} 0\n',
      ].join('\n'),
    );
  });

  it('drops the series whose first labels match, and no others, just before they are read', async () => {
    const cells: CounterCells<'a' | 'b'> = new CounterCells({
      registry,
      name: 'c_total',
      help: 'C.',
      labelNames: ['a', 'b'],
      collect: () => cells.drop('1'),
    });
    for (const [a, b] of [
      ['1', 'x'],
      ['1', 'y'],
      ['2', 'x'],
    ] as const)
      cells.cell(a, b);
    const { values } = await cells.get();
    expect(values.map(({ labels }) => labels)).toEqual([{ a: '2', b: 'x' }]);
  });
});

describe('a histogram of cells', () => {
  it("is exposed exactly like prom-client's", async () => {
    registry.setDefaultLabels({});
    const other = new Registry();
    const options = { name: 'h_seconds', help: 'H.', labelNames: ['a'] as const };
    const buckets = [0.1, 1, 10];
    const cells = new HistogramCells({ ...options, registry, buckets });
    const reference = new Histogram({ ...options, buckets, registers: [other] });
    for (const value of [0.05, 0.1, 0.5, 10, 10.5, 3_000]) {
      cells.cell('x').observe(value);
      reference.observe({ a: 'x' }, value);
    }
    expect(await registry.metrics()).toBe(await other.metrics());
  });
});
