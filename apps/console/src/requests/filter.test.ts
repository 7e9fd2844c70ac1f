import { expect, it } from '@jest/globals';
import { beforeOf, fieldTimeOf, requestFilterOf, requestInputOf, requestQueryOf } from './filter.ts';

it('a filter is read back from its link, and repeated or unknown parameters are ignored', () => {
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

it('a page begins where its link says, and with the newest request if that is given twice', () => {
  expect([{}, { before: '1-a' }, { before: ['1-a', '1-b'] }].map(beforeOf)).toEqual(['', '1-a', '']);
});

it('the last day of a filter stays included when its fields are sent again', () => {
  expect(fieldTimeOf('2026-11-23', { ends: true })).toBe('2026-11-24T00:00');
  expect(fieldTimeOf('2026-12-31', { ends: true })).toBe('2027-01-01T00:00');
  expect(fieldTimeOf('2026-11-23T10:15:20Z', { ends: true })).toBe('2026-11-23T10:15');
});

it('the first day of a filter begins at midnight, and what is not a day leaves the field empty', () => {
  expect(fieldTimeOf('2026-11-23')).toBe('2026-11-23T00:00');
  expect(fieldTimeOf('')).toBe('');
  expect(fieldTimeOf('2026-99-99', { ends: true })).toBe('');
});
