import { expect, it } from '@jest/globals';
import { requestFilterOf, requestInputOf, requestQueryOf } from './filter.ts';

it('what a link says of a filter is read back, and nothing else', () => {
  const filter = {
    key: 'key_1',
    model: '',
    outcome: 'upstream_error',
    from: '2026-11-22T10:00',
    to: '',
    id: '',
  };
  const query = Object.fromEntries(new URLSearchParams(requestQueryOf(filter, { before: '1-a' })));
  expect(requestFilterOf(query)).toEqual(filter);
  expect(query.before).toBe('1-a');
  expect(requestQueryOf(requestFilterOf({ key: ['a', 'b'], other: 'x' }))).toBe('');
  expect(requestInputOf(filter)).toEqual({
    keyId: 'key_1',
    outcome: 'upstream_error',
    from: '2026-11-22T10:00',
  });
});
