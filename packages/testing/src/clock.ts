export interface TestClock {
  /** Unix milliseconds; moves only when told to. */
  now(): number;
  advance(ms: number): void;
  set(ms: number): void;
}

/** A clock that stands still, at 2026-11-21T12:00:00Z unless told otherwise. */
export function testClock(startMs: number = Date.UTC(2026, 10, 21, 12)): TestClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance: (ms) => {
      nowMs += ms;
    },
    set: (ms) => {
      nowMs = ms;
    },
  };
}
