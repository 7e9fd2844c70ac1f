import { expect, it } from '@jest/globals';
import { ERRORS, REFUSAL_CAUSES } from '@tidegate/contracts';
import { ADVICE, adviceOf, CAUSES, causeAdviceOf, codeText } from './advice.ts';

const SENTENCES = /^[A-Z].*\.$/s;

it('each error code and each cause of a limit has a meaning and something to do, in sentences', () => {
  const causes: string[] = Object.values(REFUSAL_CAUSES).flat();
  const advice = [
    ...Object.keys(ERRORS).map((code) => ADVICE[code as keyof typeof ADVICE]),
    ...causes.map((cause) => CAUSES[cause as keyof typeof CAUSES]),
    ...Object.values(ADVICE),
  ];
  for (const one of advice) {
    expect(one?.meaning).toMatch(SENTENCES);
    expect(one?.action).toMatch(SENTENCES);
  }
  expect(Object.keys(CAUSES).sort()).toEqual([...new Set(causes)].sort());
});

it('a code or cause of another version is no fault', () => {
  expect(adviceOf('toString').action).toBe('Update the console.');
  expect(causeAdviceOf('constructor')).toBeNull();
  expect(codeText('upstream_error')).toBe('upstream_error (502)');
  expect(codeText('gateway_lost')).toBe('gateway_lost');
});
