import { describe, expect, it } from '@jest/globals';
import { probePauseMs } from './backoff.ts';
import { DRIVER_TIMINGS } from './driver.ts';

describe('the pause before the next probe of a remote server', () => {
  it('doubles with each consecutive failure, and never exceeds 30 s', () => {
    const pauses = Array.from({ length: 8 }, (_, i) => probePauseMs(i + 1, DRIVER_TIMINGS, () => 0.5));
    expect(pauses.map(Math.round)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 25_000, 25_000, 25_000]);
    for (const failures of [6, 100, 100_000])
      expect(probePauseMs(failures, DRIVER_TIMINGS, () => 0)).toBeLessThanOrEqual(30_000);
  });

  it('is the usual one after an answer', () => {
    expect(probePauseMs(0, DRIVER_TIMINGS, () => 0.5)).toBe(DRIVER_TIMINGS.probeMs);
  });
});
