import { expect, it } from '@jest/globals';
import { ERRORS } from '@tidegate/contracts';
import { ADVICE, adviceOf, codeText } from './advice.ts';

const SENTENCES = /^[A-Z].*\.$/;

it('each error code has a meaning and something to do, in sentences', () => {
  const codes = Object.keys(ERRORS);
  expect(Object.keys(ADVICE)).toEqual(expect.arrayContaining(codes));
  for (const code of Object.keys(ADVICE)) {
    expect(adviceOf(code).meaning).toMatch(SENTENCES);
    expect(adviceOf(code).action).toMatch(SENTENCES);
  }
});

it('a code from another version is shown as it is, with advice to update', () => {
  expect(adviceOf('toString').action).toBe('Update the console.');
  expect(codeText('upstream_error')).toBe('upstream_error (502)');
  expect(codeText('gateway_lost')).toBe('gateway_lost');
});
