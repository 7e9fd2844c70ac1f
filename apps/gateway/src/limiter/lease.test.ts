import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { InstanceLease } from './lease.ts';
import type { LimiterCall } from './session.ts';

const LEASE_MS = 8_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A lease whose heartbeats are all answered. */
function start(isIdle: () => boolean) {
  const lease = new InstanceLease({
    heartbeatMs: 1_000,
    isIdle,
    onLeaseLost: () => {},
    onAlive: () => {},
    onStateLost: () => {},
  });
  const calls: LimiterCall[] = [];
  const call = async (said: LimiterCall) => {
    calls.push(said);
    return { callId: 1, heartbeat: { leaseLost: false, leaseUnknown: false } } as never;
  };
  lease.start({ up: true, link: null, call, reset: () => {}, setFailing: () => {} });
  return { lease, calls };
}

describe('an instance sends a heartbeat', () => {
  it('every second while it holds something', () => {
    const { calls } = start(() => false);
    jest.advanceTimersByTime(LEASE_MS);
    expect(calls).toHaveLength(8);
  });

  it('less often while it is idle, but often enough that two lost heartbeats do not cost its lease', () => {
    const { calls } = start(() => true);
    jest.advanceTimersByTime(LEASE_MS - 1);
    expect(calls).toHaveLength(3);
  });

  it('once before it holds something again, and then every second', () => {
    const { lease, calls } = start(() => true);
    lease.use();
    lease.use();
    expect(calls).toHaveLength(1);
    jest.advanceTimersByTime(1_000);
    expect(calls).toHaveLength(2);
  });

  it('no more once it is stopped', () => {
    const { lease, calls } = start(() => true);
    lease.stop();
    lease.use();
    expect(calls).toHaveLength(0);
    expect(jest.getTimerCount()).toBe(0);
  });
});
