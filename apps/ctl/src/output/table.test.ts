import { expect, it } from '@jest/globals';
import { table } from './table.ts';

it('a table is as wide as its widest cells, however many rows it has', () => {
  const rows = Array.from({ length: 150_000 }, (_, i) => ({ name: `key_${i}` }));
  const lines = table(rows, [
    { title: 'Key', cell: ({ name }) => name },
    { title: 'Requests', cell: () => 1 },
  ]).split('\n');
  expect(lines).toHaveLength(150_001);
  expect(lines.slice(0, 2)).toEqual(['Key         Requests', 'key_0              1']);
});
