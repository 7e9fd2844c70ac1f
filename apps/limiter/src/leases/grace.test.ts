import { describe, expect, it } from '@jest/globals';
import { Grace } from './grace.ts';

describe('the grace of a limiter', () => {
  const watching = () => {
    const clock = { ms: 0 };
    const grace = new Grace<string>({ graceMs: 8_000, maxGapMs: 3_000, nowMs: () => clock.ms });
    return {
      clock,
      grace,
      /** Looks every second until `ms`. */
      watch(ms: number, servers: readonly string[] = ['a', 'b']) {
        for (; clock.ms < ms; clock.ms += 1_000) grace.look(servers);
        clock.ms = ms;
        grace.look(servers);
        return [grace.over('a'), grace.over('b')];
      },
    };
  };

  it('ends when a server has been watched long enough', () => {
    const { grace, watch } = watching();
    expect(watch(7_999)).toEqual([false, false]);
    expect(watch(8_000)).toEqual([true, true]);
    expect(grace.over('c')).toBe(false);
    expect(grace.over(null)).toBe(false);
  });

  it('begins anew for a server that was lost, and for that one only', () => {
    const { grace, watch } = watching();
    watch(9_000);
    grace.lost('a');
    expect(watch(16_000)).toEqual([false, true]);
    expect(watch(17_000)).toEqual([true, true]);
    grace.lost(null);
    expect(watch(18_000)).toEqual([false, false]);
  });

  it('begins for a server when it is there, as after it has taken over', () => {
    const { watch } = watching();
    expect(watch(9_000, ['a'])).toEqual([true, false]);
    expect(watch(12_000, ['b'])).toEqual([false, false]);
    expect(watch(18_000, ['b'])).toEqual([false, true]);
  });

  it('begins anew for all when this process stood still', () => {
    const { clock, grace, watch } = watching();
    expect(watch(9_000)).toEqual([true, true]);
    clock.ms = 12_001;
    grace.look(['a', 'b']);
    expect(grace.over('a')).toBe(false);
    expect(watch(20_001)).toEqual([true, true]);
  });
});
