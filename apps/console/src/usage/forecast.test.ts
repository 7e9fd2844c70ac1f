import { describe, expect, it } from '@jest/globals';
import type { UsageMonth } from '@tidegate/control';
import { DAY_MS } from '@tidegate/limits';
import fc from 'fast-check';
import { bannersOf, forecastsOf, usedUpAt } from './forecast.ts';

const startMs = Date.UTC(2026, 10, 1);
const endMs = Date.UTC(2026, 11, 1);
const CAP_MAX = 1_000_000_000;
const counts = fc.integer({ min: 1, max: CAP_MAX });
const afterADay = fc.integer({ min: startMs + DAY_MS, max: endMs - 1 });

describe('the forecast of a quota', () => {
  it('says when in the month the cap is reached at the pace so far, or that the quota lasts', () => {
    fc.assert(
      fc.property(counts, counts, afterADay, (used, cap, nowMs) => {
        const atMs = usedUpAt(used, cap, { startMs, endMs, nowMs });
        const perMs = used / (nowMs - startMs);
        if (atMs === 'lasts') return expect(perMs * (endMs - startMs)).toBeLessThanOrEqual(cap * (1 + 1e-9));
        if (used >= cap) return expect(atMs).toBe(nowMs);
        expect(atMs).toBeGreaterThanOrEqual(nowMs);
        expect(atMs).toBeLessThan(endMs);
        expect(perMs * (Number(atMs) - startMs)).toBeGreaterThanOrEqual(cap * (1 - 1e-9));
        expect(perMs * (Number(atMs) - 1 - startMs)).toBeLessThanOrEqual(cap * (1 + 1e-9));
      }),
    );
  });

  it('is never later when more is used, or when the cap is smaller', () => {
    const orLast = (at: number | 'lasts' | null) => (typeof at === 'number' ? at : Number.POSITIVE_INFINITY);
    fc.assert(
      fc.property(counts, counts, counts, afterADay, (used, cap, more, nowMs) => {
        const at = (taken: number, of: number) => orLast(usedUpAt(taken, of, { startMs, endMs, nowMs }));
        expect(at(used + more, cap)).toBeLessThanOrEqual(at(used, cap));
        expect(at(used, cap)).toBeLessThanOrEqual(at(used, cap + more));
      }),
    );
  });

  it('is not made on the first day or while nothing is used, unless all is used', () => {
    const firstDay = fc.integer({ min: startMs - DAY_MS, max: startMs + DAY_MS - 1 });
    fc.assert(
      fc.property(counts, counts, firstDay, afterADay, (used, cap, early, nowMs) => {
        const span = { startMs, endMs };
        expect(usedUpAt(used, cap, { ...span, nowMs: early })).toBe(used >= cap ? early : null);
        expect(usedUpAt(0, cap, { ...span, nowMs })).toBeNull();
      }),
    );
  });
});

const monthOf = (requests: number, charged: number, reserved = 0): UsageMonth => ({
  month: '2026-11',
  resetsAt: '2026-12-01T00:00:00.000Z',
  live: true,
  inFlight: 0,
  requests,
  requestsCap: 100,
  tokens: { charged, reserved, cap: 1_000 },
});
const NOW_MS = Date.UTC(2026, 10, 21);

describe('what users are told about the month', () => {
  it('names the day on which it is used up, and counts reserved tokens as used', () => {
    expect(forecastsOf(monthOf(40, 800, 70), NOW_MS)).toEqual({
      requests: "At this pace, the month's requests will last.",
      tokens: "At this pace, the month's tokens will be used up on 23 Nov.",
    });
    expect(forecastsOf(monthOf(0, 1_000), NOW_MS)).toEqual({
      requests: "Too early to say how long the month's requests will last.",
      tokens: "The month's tokens are used up.",
    });
  });

  it('warns about each quota of the organization by itself, from 80 % on, and urgently from 95 %', () => {
    const kinds = (month: UsageMonth) => bannersOf(month, NOW_MS).map(({ name, kind }) => [name, kind]);
    expect(kinds(monthOf(79, 799))).toEqual([]);
    expect(kinds(monthOf(80, 799))).toEqual([['requests', 'warning']]);
    expect(kinds(monthOf(94, 700, 100))).toEqual([
      ['requests', 'warning'],
      ['tokens', 'warning'],
    ]);
    expect(kinds(monthOf(0, 950))).toEqual([['tokens', 'danger']]);
    expect(bannersOf(monthOf(95, 0), NOW_MS)[0]?.text).toBe(
      "95% of the whole organization's requests for the month are used. At this pace, the month's requests will be used up on 22 Nov. Any request beyond the quota is refused until 1 Dec.",
    );
    expect(bannersOf(monthOf(0, 990, 20), NOW_MS)[0]?.text).toBe(
      "100% of the whole organization's tokens for the month are used or reserved. A request that needs more than is left is refused until 1 Dec.",
    );
  });
});
