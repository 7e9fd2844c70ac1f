import { expect, it } from '@jest/globals';
import { withTexts } from './query.ts';

it('a query keeps what else it has when texts are written into it, and loses those that are empty', () => {
  expect(withTexts('?rows=all&state=Active', { find: 'a b', state: '' })).toBe('?rows=all&find=a+b');
  expect(withTexts('?find=x', { find: '' })).toBe('');
  expect(withTexts('', { find: '' })).toBe('');
});
