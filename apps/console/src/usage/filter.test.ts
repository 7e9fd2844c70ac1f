import { expect, it } from '@jest/globals';
import { choiceOf, fileNameOf, PERIODS, periodOf, stepQueryOf, usageQueryOf } from './filter.ts';

const [DAY, WEEK, MONTH] = PERIODS;
const CHOICE = { keyId: 'key_1', modelId: 'mdl_1' };
const read = (query: string) => Object.fromEntries(new URLSearchParams(query));

it('the period and the filter of the usage are read back from a link; the last 30 days are shown unless it says otherwise', () => {
  const query = read(usageQueryOf(CHOICE, WEEK));
  expect([choiceOf(query), periodOf(query)]).toEqual([CHOICE, WEEK]);
  expect(periodOf(read(usageQueryOf(CHOICE, DAY)))).toBe(DAY);
  expect(usageQueryOf({ keyId: '', modelId: '' }, MONTH)).toBe('');
  for (const period of [undefined, '', '1d', ['7d', '7d']]) expect(periodOf({ period })).toBe(MONTH);
});

it('a day or an hour leads to all its requests, even across the end of a month', () => {
  expect(read(stepQueryOf({ ...CHOICE, modelId: '' }, '2026-11-30'))).toEqual({
    key: 'key_1',
    from: '2026-11-30T00:00',
    to: '2026-12-01T00:00',
  });
  expect(read(stepQueryOf(CHOICE, '2026-11-30T23:00:00.000Z'))).toEqual({
    key: 'key_1',
    model: 'mdl_1',
    from: '2026-11-30T23:00',
    to: '2026-12-01T00:00',
  });
});

it('a file is named after the first and the last day or hour in it', () => {
  expect(fileNameOf(['2026-11-30', '2026-12-01', '2026-12-02'])).toBe('2026-11-30-to-2026-12-02');
  expect(fileNameOf(['2026-11-30T23:00:00.000Z', '2026-12-01T00:00:00.000Z'])).toBe(
    '2026-11-30T23Z-to-2026-12-01T00Z',
  );
});
