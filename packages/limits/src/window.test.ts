import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createWindow, inWindow, mayAdmit, mostInAnyWindow } from './window.ts';

/** Non-decreasing instants, dense around the window's length so that its edges are hit. */
const arrivals = fc
  .array(fc.oneof(fc.constantFrom(0, 1, 59_999, 60_000, 60_001, 30_000, 20_000), fc.nat(5_000)), {
    maxLength: 80,
  })
  .map((gaps) => {
    let nowMs = 0;
    return gaps.map((gap) => (nowMs += gap));
  });
const limits = fc.integer({ min: 1, max: 7 });

describe('the exact sliding window', () => {
  it('decides by its Nth newest entry exactly as the whole history would', () => {
    fc.assert(
      fc.property(limits, arrivals, (limit, times) => {
        const window = createWindow(limit);
        const history: number[] = [];
        for (const nowMs of times) {
          const expected = mayAdmit(history, limit, nowMs);
          expect(window.tryAdmit(nowMs).admitted).toBe(expected);
          if (expected) history.push(nowMs);
        }
      }),
    );
  });

  it('admits at most the limit in any 60 seconds', () => {
    fc.assert(
      fc.property(limits, arrivals, (limit, times) => {
        const window = createWindow(limit);
        const admitted = times.filter((nowMs) => window.tryAdmit(nowMs).admitted);
        expect(mostInAnyWindow(admitted)).toBeLessThanOrEqual(limit);
      }),
    );
  });

  it('tells a wait after which the request is admitted, and not a millisecond earlier', () => {
    fc.assert(
      fc.property(limits, arrivals, (limit, times) => {
        const window = createWindow(limit);
        for (const nowMs of times) {
          const decision = window.tryAdmit(nowMs);
          if (decision.admitted) continue;
          expect(decision.retryAfterMs).toBeGreaterThan(0);
          expect(decision.retryAfterMs).toBeLessThanOrEqual(60_000);
          expect(mayAdmit(window.log(), limit, nowMs + decision.retryAfterMs - 1)).toBe(false);
          expect(mayAdmit(window.log(), limit, nowMs + decision.retryAfterMs)).toBe(true);
        }
      }),
    );
  });

  it('tells how many more fit now, and when the oldest leaves', () => {
    fc.assert(
      fc.property(limits, arrivals, (limit, times) => {
        const window = createWindow(limit);
        for (const nowMs of times) {
          const decision = window.tryAdmit(nowMs);
          if (!decision.admitted) continue;
          const before = inWindow(window.log(), nowMs).length;
          expect(decision.remaining).toBe(limit - before);
          expect(inWindow(window.log(), nowMs + decision.resetMs).length).toBeLessThan(before);
          expect(inWindow(window.log(), nowMs + decision.resetMs - 1).length).toBe(before);
        }
      }),
    );
  });

  it('is left by a withdrawn request as if it had never been', () => {
    fc.assert(
      fc.property(limits, arrivals, fc.infiniteStream(fc.boolean()), (limit, times, withdrawn) => {
        const window = createWindow(limit);
        const history: number[] = [];
        for (const nowMs of times) {
          const expected = mayAdmit(history, limit, nowMs);
          expect(window.tryAdmit(nowMs).admitted).toBe(expected);
          if (!expected) continue;
          if (withdrawn.next().value) expect(window.withdraw(nowMs)).toBe(true);
          else history.push(nowMs);
        }
      }),
    );
  });

  it('is half-open: at exactly 60 s the first request has left it', () => {
    const window = createWindow(1);
    expect(window.tryAdmit(0).admitted).toBe(true);
    expect(window.tryAdmit(59_999.999)).toEqual({ admitted: false, retryAfterMs: expect.closeTo(0.001, 6) });
    expect(window.tryAdmit(60_000)).toEqual({ admitted: true, remaining: 0, resetMs: 60_000 });
  });

  it('has no fixed-window edge: a burst at the end of one minute blocks the start of the next', () => {
    const window = createWindow(5);
    for (let i = 0; i < 5; i++) window.tryAdmit(59_900);
    expect(window.tryAdmit(60_100).admitted).toBe(false);
  });

  it('withdraws nothing it does not hold', () => {
    expect(createWindow(2).withdraw(1)).toBe(false);
  });
});
