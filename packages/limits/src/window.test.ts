import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inWindow, mayAdmit, mostInAnyWindow } from './window.ts';

/** Non-decreasing instants. They are dense near the window's length, so that its edges are hit. */
const arrivals = fc
  .array(fc.oneof(fc.constantFrom(0, 1, 59_999, 60_000, 60_001, 30_000, 20_000), fc.nat(5_000)), {
    maxLength: 80,
  })
  .map((gaps) => {
    let nowMs = 0;
    return gaps.map((gap) => (nowMs += gap));
  });
const limits = fc.integer({ min: 1, max: 7 });

function admit(times: readonly number[], limit: number): number[] {
  const admitted: number[] = [];
  for (const nowMs of times) if (mayAdmit(admitted, limit, nowMs)) admitted.push(nowMs);
  return admitted;
}

describe('the exact sliding window', () => {
  it('admits at most the limit in any 60 seconds [key.rpm.effect]', () => {
    fc.assert(
      fc.property(limits, arrivals, (limit, times) => {
        expect(mostInAnyWindow(admit(times, limit))).toBeLessThanOrEqual(limit);
      }),
    );
  });

  it('refuses only what would be one too many', () => {
    fc.assert(
      fc.property(limits, arrivals, (limit, times) => {
        const admitted = admit(times, limit);
        for (const nowMs of times) {
          if (admitted.includes(nowMs)) continue;
          const before = admitted.filter((at) => at < nowMs);
          expect(mostInAnyWindow([...before, nowMs])).toBe(limit + 1);
        }
      }),
    );
  });

  it('is half-open: at exactly 60 s the first request has left it', () => {
    expect(mayAdmit([0], 1, 59_999.999)).toBe(false);
    expect(mayAdmit([0], 1, 60_000)).toBe(true);
    expect(inWindow([0, 1, 60_000, 60_001], 60_000)).toEqual([1, 60_000]);
    expect([mostInAnyWindow([]), mostInAnyWindow([0, 59_999]), mostInAnyWindow([0, 60_000])]).toEqual([
      0, 2, 1,
    ]);
  });

  it('has no fixed-window edge: a burst at the end of one minute blocks the start of the next', () => {
    expect(mayAdmit(Array(5).fill(59_900), 5, 60_100)).toBe(false);
  });
});
