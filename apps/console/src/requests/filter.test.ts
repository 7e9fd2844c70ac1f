import { expect, it } from '@jest/globals';
import { filterOf, inputOf, queryOf } from './filter.ts';

it('what a link says of a filter is read back, and nothing else', () => {
  const filter = {
    key: 'key_1',
    model: '',
    outcome: 'upstream_error',
    from: '2026-11-22T10:00',
    to: '',
    id: '',
  };
  const query = Object.fromEntries(new URLSearchParams(queryOf(filter, { before: '1-a' })));
  expect(filterOf(query)).toEqual(filter);
  expect(query.before).toBe('1-a');
  expect(queryOf(filterOf({ key: ['a', 'b'], other: 'x' }))).toBe('');
  expect(inputOf(filter)).toEqual({ keyId: 'key_1', outcome: 'upstream_error', from: '2026-11-22T10:00' });
});
