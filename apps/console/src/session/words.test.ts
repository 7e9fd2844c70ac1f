import { describe, expect, it } from '@jest/globals';
import { PROVIDER_AWAY, signInTrouble, TOO_MANY, timeInWords, tooManyAttempts } from './words.ts';

describe('the idle time of sessions', () => {
  it.each([
    [28_800_000, '8 hours'],
    [3_600_000, '1 hour'],
    [5_400_000, '90 minutes'],
  ])('is put into words: %i ms are %s', (ms, words) => {
    expect(timeInWords(ms)).toBe(words);
  });
});

describe('a visitor who is not signed in', () => {
  it.each([
    [1, '1 minute.'],
    [60, '1 minute.'],
    [61, '2 minutes.'],
    [900, '15 minutes.'],
  ])('is told how long to wait: %i s are %s', (seconds, words) => {
    expect(tooManyAttempts(seconds)).toBe(`Too many attempts. Try again in ${words}`);
  });

  it.each([
    [undefined, null],
    [PROVIDER_AWAY, /could not be reached/],
    ['signup_disabled', /no account for you here/],
    ['account_not_linked', /no account for you here/],
    ['over', /too many wrong codes/],
    [TOO_MANY, /^Too many attempts. Try again in 1 minute.$/],
    ['unable_to_link_account', /belongs to another identity/],
    ['access_denied', /did not confirm who you are/],
    ['invalid_code', /did not confirm who you are/],
  ])('is told why the sign-in failed: for %s', (error, words) => {
    const told = signInTrouble(error);
    if (words === null) expect(told).toBeNull();
    else expect(told).toMatch(words);
  });
});
