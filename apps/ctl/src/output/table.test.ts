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

it.each([
  ['CJK', '中文模型', 8],
  ['kana and their halfwidth forms', 'モデルｱｲｳ', 9],
  ['Hangul', '한국어', 6],
  ['fullwidth letters', 'ＡＢ', 4],
  ['an emoji of one person, of a family and of a flag', '🦙👨‍👩‍👧🇩🇪', 6],
  ['an emoji by its variation selector', '❤️', 2],
  ['combining marks', 'cafe\u0301', 4],
  ['Cyrillic', 'модель', 6],
])('columns stay aligned with %s', (_what, name, columns) => {
  const rows = [{ name }, { name: 'x'.repeat(12) }];
  const [title, line] = table(rows, [
    { title: 'Name', cell: (row) => row.name },
    { title: 'Id', cell: () => 'id' },
  ]).split('\n');
  expect(title).toBe('Name          Id');
  expect(line).toBe(`${name}${' '.repeat(14 - columns)}id`);
});
