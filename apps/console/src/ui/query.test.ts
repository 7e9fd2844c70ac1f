import { expect, it } from '@jest/globals';
import { withTexts } from './query.ts';

it('writing texts into a query keeps its other parameters and drops empty texts', () => {
  expect(withTexts('?rows=all&state=Active', { find: 'a b', state: '' })).toBe('?rows=all&find=a+b');
  expect(withTexts('?find=x', { find: '' })).toBe('');
  expect(withTexts('', { find: '' })).toBe('');
});
