import { describe, expect, it } from '@jest/globals';
import { formatWait, rateLimitHeaders, readAdmission } from './admission.ts';

describe('a wait in a rate-limit header', () => {
  it.each([
    [0, '0ms'],
    [20, '20ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [59_250, '59.25s'],
    [60_000, '1m0s'],
    [360_000, '6m0s'],
    [61_500, '1m1.5s'],
  ])('of %i ms is written %s', (waitMs, text) => {
    expect(formatWait(waitMs)).toBe(text);
  });
});

describe('an outcome of the limiter', () => {
  it('that is missing, or a lost lease, is an internal error', () => {
    for (const outcome of [null, { leaseLost: {}, outcome: 'leaseLost' } as const]) {
      expect(readAdmission(outcome)).toMatchObject({ code: 'internal_error' });
    }
  });

  it('of a recovering organization says when to retry, in whole seconds, rounded up', () => {
    const rateLimited = { cause: 'CAUSE_RECOVERING', retryAfterMs: 41_001, limit: 0 } as const;
    expect(readAdmission({ rateLimited, outcome: 'rateLimited' })).toMatchObject({
      code: 'rate_limit_exceeded',
      retryAfterS: 42,
    });
  });

  it('that admits has rate-limit headers if it has a window', () => {
    const window = { limit: 60, remaining: 59, resetMs: 20 };
    const headers = [
      ...['x-ratelimit-limit-requests', '60'],
      ...['x-ratelimit-remaining-requests', '59'],
      ...['x-ratelimit-reset-requests', '20ms'],
    ];
    expect(rateLimitHeaders({ decidedAtMs: 1, window })).toEqual(headers);
    expect(rateLimitHeaders({ decidedAtMs: 1, window: null })).toEqual([]);
  });
});
