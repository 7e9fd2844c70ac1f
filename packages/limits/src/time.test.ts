import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DAY_MS, dayOf, expiryInstantMs, monthEndMs, monthOf, retryAfterSeconds } from './time.ts';

const instants = fc.integer({ min: 0, max: Date.UTC(2100, 0) });

describe('months', () => {
  it('are UTC: the last millisecond of a month still belongs to it [plan.months]', () => {
    expect(monthOf(Date.UTC(2026, 11, 1) - 1)).toBe('2026-11');
    expect(monthOf(Date.UTC(2026, 11, 1))).toBe('2026-12');
  });

  it('end where the next one begins, over year ends and leap days', () => {
    expect(monthEndMs('2026-12')).toBe(Date.UTC(2027, 0));
    expect(monthEndMs('2028-02')).toBe(Date.UTC(2028, 2));
  });

  it('include every instant before their end, and not the end itself', () => {
    fc.assert(
      fc.property(instants, (ms) => {
        const endMs = monthEndMs(monthOf(ms));
        expect(ms).toBeLessThan(endMs);
        expect(monthOf(endMs - 1)).toBe(monthOf(ms));
        expect(monthOf(endMs)).not.toBe(monthOf(ms));
      }),
    );
  });

  it.each(['2026-13', '2026-00', '2026-1', '26-01', '12026-11', '', '2026-11-01'])('exclude %j', (month) => {
    expect(() => monthEndMs(month)).toThrow(RangeError);
  });
});

describe('days', () => {
  it('are those of the ISO date, whichever day was asked for before', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS })), (times) => {
        for (const ms of times) expect(dayOf(ms)).toBe(new Date(ms).toISOString().slice(0, 10));
      }),
    );
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('exclude %d', (ms) => {
    expect(() => dayOf(ms)).toThrow(RangeError);
  });
});

describe('retryAfterSeconds', () => {
  it.each([
    [-5, 1],
    [0, 1],
    [0.001, 1],
    [1_000, 1],
    [1_000.001, 2],
    [59_999, 60],
    [60_000, 60],
  ])('of %d ms is %d s', (ms, seconds) => {
    expect(retryAfterSeconds(ms)).toBe(seconds);
  });
});

describe('expiry', () => {
  it('is midnight UTC after the day: the day itself is still served to its last millisecond [key.expires.effect]', () => {
    expect(expiryInstantMs('2026-11-21')).toBe(Date.UTC(2026, 10, 22));
    expect(expiryInstantMs('2026-12-31')).toBe(Date.UTC(2027, 0, 1));
    expect(expiryInstantMs('2028-02-29')).toBe(Date.UTC(2028, 2, 1));
    fc.assert(
      fc.property(instants, (ms) => {
        expect(dayOf(expiryInstantMs(dayOf(ms)) - 1)).toBe(dayOf(ms));
      }),
    );
  });

  it.each(['2026-02-29', '2026-13-01', '2026-11-31', '2026-11-2', 'never', '', '2026-11-21T00:00:00Z'])(
    'refuses %j, which is no day',
    (day) => {
      expect(() => expiryInstantMs(day)).toThrow(RangeError);
    },
  );
});
