import { describe, expect, it } from '@jest/globals';
import { arrange, type KeyTableRow, sortOf, sortText, stateFilterOf } from './rows.ts';

const row = (name: string, part: Partial<KeyTableRow> = {}): KeyTableRow => ({
  id: name,
  name,
  prefix: `ti_${name}`,
  state: 'Active',
  requestsPerMinute: 60,
  requestsAtOnce: 4,
  lastUsedAt: null,
  expiresOn: null,
  expiresAt: null,
  mayCallText: 'All models',
  mayCallShort: 'All models',
  limitsText: '60/min · 4 at once',
  ...part,
});
const KEYS = [
  row('b', { expiresOn: '2026-12-01', lastUsedAt: '2026-11-21T10:00:00Z', requestsPerMinute: 5 }),
  row('A', { state: 'Revoked', requestsPerMinute: 60, requestsAtOnce: 1 }),
  row('c', { state: 'Expired', expiresOn: '2026-11-01', lastUsedAt: '2026-11-20T10:00:00Z' }),
];
const names = (keys: readonly KeyTableRow[]) => keys.map(({ name }) => name).join('');
const arranged = (part: Partial<Parameters<typeof arrange>[1]>) =>
  names(arrange(KEYS, { text: '', state: 'all', sort: null, ...part }));

describe('the list of keys', () => {
  it('keeps its order until sorted', () => expect(arranged({})).toBe('bAc'));

  it.each([
    ['name', 'Abc'],
    ['state', 'bcA'],
    ['limits', 'bAc'],
    ['lastUsed', 'Acb'],
    ['expires', 'cbA'],
  ] as const)('sorts by %s, either way', (column, order) => {
    expect(arranged({ sort: { column, descending: false } })).toBe(order);
    expect(arranged({ sort: { column, descending: true } })).toBe([...order].reverse().join(''));
  });

  it('is filtered by name, first characters and state', () => {
    expect(arranged({ text: ' B ' })).toBe('b');
    expect(arranged({ text: 'ti_a' })).toBe('A');
    expect(arranged({ state: 'Expired' })).toBe('c');
    expect(arranged({ text: 'b', state: 'Revoked' })).toBe('');
  });

  it('has its order and its filter by state in the address, and ignores invalid ones there', () => {
    for (const text of ['name', '-lastUsed', '']) expect(sortText(sortOf(text))).toBe(text);
    expect(sortOf('-nothing')).toBeNull();
    expect([stateFilterOf('Revoked'), stateFilterOf('revoked'), stateFilterOf('')]).toEqual([
      'Revoked',
      'all',
      'all',
    ]);
  });
});
