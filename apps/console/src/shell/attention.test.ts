import { describe, expect, it } from '@jest/globals';
import { failing } from './attention.ts';

describe('failing requests', () => {
  it.each([
    [{ requests: 50, errors: 5 }, '10% of the requests of this hour and the last have failed.'],
    [{ requests: 51, errors: 5 }, null],
    [{ requests: 4, errors: 4 }, null],
    [{ requests: 0, errors: 0 }, null],
  ])('of %j are told as %s', (totals, told) => expect(failing(totals)).toBe(told));
});
