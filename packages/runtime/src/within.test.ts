import { describe, expect, it } from '@jest/globals';
import { answerWithin, within } from './within.ts';

const never = new Promise<never>(() => {});
const failed = () => Promise.reject(new Error('failed'));

describe('within', () => {
  it('resolves as the work does if that is in time, and otherwise to the value for late work', async () => {
    expect(await within(Promise.resolve('done'), 60_000, 'late')).toBe('done');
    expect(await within(never, 1, 'late')).toBe('late');
  });

  it('rejects with work that fails in time, and ignores what fails later', async () => {
    await expect(within(failed(), 60_000, 'late')).rejects.toThrow('failed');
    let fail = () => {};
    const failsLate = new Promise((resolve) => {
      fail = () => resolve(failed());
    });
    expect(await within(failsLate, 1, 'late')).toBe('late');
    fail();
    await expect(failsLate).rejects.toThrow('failed');
  });
});

it('answerWithin has one value for whatever is not an answer: late, rejected or thrown', async () => {
  const throwing = () => {
    throw new Error('thrown');
  };
  expect(await answerWithin(() => 'answer', 60_000, null)).toBe('answer');
  expect(await answerWithin(() => never, 1, null)).toBeNull();
  expect(await answerWithin(failed, 60_000, null)).toBeNull();
  expect(await answerWithin(throwing, 60_000, null)).toBeNull();
});
