import { describe, expect, it } from '@jest/globals';
import { StableServers } from './stable-servers.ts';

describe('a Redis server', () => {
  const setUp = () => {
    const clock = { ms: 0 };
    const servers = new StableServers<string>({ graceMs: 8_000, maxGapMs: 3_000, nowMs: () => clock.ms });
    return {
      clock,
      servers,
      /** Observes every second until `ms`. */
      watch(ms: number, available: readonly string[] = ['a', 'b']) {
        for (; clock.ms < ms; clock.ms += 1_000) servers.observe(available);
        clock.ms = ms;
        servers.observe(available);
        return [servers.isStable('a'), servers.isStable('b')];
      },
    };
  };

  it('is stable once it has been available for the grace period', () => {
    const { servers, watch } = setUp();
    expect(watch(7_999)).toEqual([false, false]);
    expect(watch(8_000)).toEqual([true, true]);
    expect(servers.isStable('c')).toBe(false);
    expect(servers.isStable(null)).toBe(false);
  });

  it('that was lost has a new grace period, and no other server has', () => {
    const { servers, watch } = setUp();
    watch(9_000);
    servers.lost('a');
    expect(watch(16_000)).toEqual([false, true]);
    expect(watch(17_000)).toEqual([true, true]);
    servers.lost(null);
    expect(watch(18_000)).toEqual([false, false]);
  });

  it('has its grace period when it appears, for example in a failover', () => {
    const { watch } = setUp();
    expect(watch(9_000, ['a'])).toEqual([true, false]);
    expect(watch(12_000, ['b'])).toEqual([false, false]);
    expect(watch(18_000, ['b'])).toEqual([false, true]);
  });

  it('has a new grace period after this process stood still', () => {
    const { clock, servers, watch } = setUp();
    expect(watch(9_000)).toEqual([true, true]);
    clock.ms = 12_001;
    servers.observe(['a', 'b']);
    expect(servers.isStable('a')).toBe(false);
    expect(watch(20_001)).toEqual([true, true]);
  });
});
