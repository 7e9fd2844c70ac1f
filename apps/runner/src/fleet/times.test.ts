import { describe, expect, it } from '@jest/globals';
import { createMetrics } from '@tidegate/runtime';
import { testClock } from '@tidegate/testing';
import type { State } from '../condition/machine.ts';
import { createRunnerMetrics } from '../metrics.ts';
import { Times } from './times.ts';

const state = (phase: State['phase'], reason = ''): State => ({ phase, reason, failures: 0, crashed: false });
const SLOW_START_MS = 600_000;
const MINIMUM_STAY_MS = 1_000;
const DRAIN_MS = 10;
const HOUR_MS = 3_600_000;

describe('the times of a model', () => {
  it('count as idle only what comes after its start, however long that takes', () => {
    const { clock, times } = launched();
    clock.advance(SLOW_START_MS);
    times.changePhase(state('launching'), state('running'));
    expect(times.unusedMs).toBe(0);
  });

  it('let it keep its room for a while after its start, but not after one that failed', () => {
    const [started, failed] = [launched(), launched()];
    started.times.changePhase(state('launching'), state('running'));
    failed.times.changePhase(state('launching'), state('failing', 'It ended.'));
    expect([started.times.mayLeave, failed.times.mayLeave]).toEqual([false, true]);
    started.clock.advance(MINIMUM_STAY_MS);
    expect(started.times.mayLeave).toBe(true);
  });

  it('let it keep its room for just as long when another runner takes it over meanwhile', () => {
    const { clock, times } = launched();
    const startedMs = clock.wall.now();
    clock.advance(MINIMUM_STAY_MS - 1);
    times.resume(startedMs);
    expect(times.mayLeave).toBe(false);
    clock.advance(1);
    expect(times.mayLeave).toBe(true);
  });

  it('let it keep its room no longer than that, even if the clock of the previous runner was ahead', () => {
    const { clock, times } = launched();
    times.resume(clock.wall.now() + 10 * MINIMUM_STAY_MS);
    clock.advance(MINIMUM_STAY_MS);
    expect(times.mayLeave).toBe(true);
  });

  it.each([
    ['back', -HOUR_MS],
    ['forward', HOUR_MS],
  ])('are not changed by a clock that is set %s', (_way, byMs) => {
    const { clock, times } = launched();
    times.changePhase(state('launching'), state('running'));
    clock.wall.advance(byMs);
    expect([times.unusedMs, times.mayLeave]).toEqual([0, false]);
    clock.advance(MINIMUM_STAY_MS);
    expect([times.unusedMs, times.mayLeave]).toEqual([MINIMUM_STAY_MS, true]);
    clock.wall.advance(-byMs);
    times.stay();
    expect([times.unusedMs, times.mayLeave]).toEqual([0, false]);
    clock.advance(DRAIN_MS);
    expect(times.mayLeave).toBe(true);
  });
});

/** Both clocks advance together. The wall clock may also be set. */
function launched() {
  const [wall, monotonic] = [testClock(), testClock(0)];
  const clock = {
    wall,
    advance: (ms: number) => {
      wall.advance(ms);
      monotonic.advance(ms);
    },
  };
  const metrics = createRunnerMetrics(createMetrics('runner'));
  const timings = { drainMs: DRAIN_MS, minimumStayMs: MINIMUM_STAY_MS };
  const times = new Times({ nowMs: wall.now, monotonicMs: monotonic.now, metrics, timings });
  times.launch();
  return { clock, times };
}
