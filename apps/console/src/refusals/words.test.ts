import { describe, expect, it } from '@jest/globals';
import { ERRORS, REFUSAL_CAUSES } from '@tidegate/contracts';
import { wordsOf } from './words.ts';

const SENTENCES = /^[A-Z].*\.$/;
const INTERNAL = /_|\brpm\b|\borg\b/;
const limits = {
  plan: { requestsPerMinute: 1_234, requestsAtOnce: 32, requestsPerMonth: 5_000, tokensPerMonth: 6_000_000 },
  key: null,
};
const causes = Object.values(REFUSAL_CAUSES).flat();
const codes = Object.keys(ERRORS).filter((code) => !Object.hasOwn(REFUSAL_CAUSES, code));
const words = [...causes, ...codes].map((name) => ({ name, ...wordsOf(name, limits) }));

describe('the words for refusals', () => {
  it('say what each cause means and what to do, in sentences without internal words', () => {
    for (const { meaning, action } of words) {
      expect(meaning).toMatch(SENTENCES);
      expect(action).toMatch(SENTENCES);
    }
    for (const { name, title, meaning } of words.filter((one) =>
      causes.some((cause) => cause === one.name),
    )) {
      expect(`${title} ${meaning}`).not.toMatch(INTERNAL);
      expect(title).not.toBe(name);
    }
  });

  it('give each cause a title of its own, so that charts can tell them apart', () => {
    expect(new Set(words.map(({ title }) => title)).size).toBe(words.length);
  });

  it("name the number of the limit, whether it is the plan's or that of the key being looked at", () => {
    expect(wordsOf('org_requests_per_minute', limits).meaning).toContain('1,234 requests in any 60 seconds');
    const key = { requestsPerMinute: 60, requestsAtOnce: 4 };
    expect(wordsOf('key_requests_at_once', { ...limits, key }).meaning).toContain('4 requests in progress');
  });

  it('from another version are shown as they are, with advice to update', () => {
    expect(wordsOf('toString', limits)).toMatchObject({ title: 'toString', action: 'Update the console.' });
  });
});
