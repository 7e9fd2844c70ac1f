import { expect, it } from '@jest/globals';
import { choiceOf, dayQueryOf, PERIODS, periodOf, queryOf } from './filter.ts';

const [WEEK, MONTH] = PERIODS;
const CHOICE = { keyId: 'key_1', modelId: 'mdl_1' };
const read = (query: string) => Object.fromEntries(new URLSearchParams(query));

it('what a link says of the usage is read back; the last 30 days are shown unless it says otherwise', () => {
  const query = read(queryOf(CHOICE, WEEK));
  expect([choiceOf(query), periodOf(query)]).toEqual([CHOICE, WEEK]);
  expect(queryOf({ keyId: '', modelId: '' }, MONTH)).toBe('');
  for (const period of [undefined, '', '1d', ['7d', '7d']]) expect(periodOf({ period }).days).toBe(30);
});

it('a day leads to all its requests, over the end of a month too', () => {
  expect(read(dayQueryOf({ ...CHOICE, modelId: '' }, '2026-11-30'))).toEqual({
    ...{ key: 'key_1', from: '2026-11-30T00:00', to: '2026-12-01T00:00' },
  });
});
