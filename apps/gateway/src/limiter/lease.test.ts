import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CUT_OFF_MS, LEASE_MS } from '@tidegate/contracts';
import { InstanceLease } from './lease.ts';
import type { LimiterCall, LimiterReply } from './session.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const ALIVE = { callId: 1, heartbeat: { leaseLost: false, leaseUnknown: false } } as never;
const FAILED = { callId: 1, failed: { reason: 'there is no connection' } } as never;

/** A lease whose heartbeats are all answered, unless the test decides otherwise. */
function start(isIdle: () => boolean) {
  const told = { lost: [] as string[], givenUp: [] as string[], stoodStillMs: 0 };
  const lease = new InstanceLease({
    heartbeatMs: 1_000,
    cutOffMs: CUT_OFF_MS,
    nowMs: () => Date.now() + told.stoodStillMs,
    isIdle,
    onLeaseLost: (instanceId) => told.lost.push(instanceId),
    onGivenUp: (instanceId) => told.givenUp.push(instanceId),
    onAlive: () => {},
    onStateLost: () => {},
  });
  const calls: LimiterCall[] = [];
  const session = {
    up: true,
    link: null,
    /** Null: no limiter answers. */
    answer: async (): Promise<LimiterReply | null> => ALIVE,
    call: (said: LimiterCall) => {
      calls.push(said);
      return session.answer();
    },
    reset: () => {},
    setFailing: () => {},
  };
  lease.start(session);
  return { lease, calls, session, told };
}

const instanceOf = (call: LimiterCall | undefined) => call?.heartbeat?.instanceId;

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

describe('an instance that no limiter answers', () => {
  it('ends before its lease does, counted from its last answered heartbeat, and only once', async () => {
    const { lease, calls, session, told } = start(() => false);
    const { instanceId } = lease;
    await jest.advanceTimersByTimeAsync(2_999);
    // The next heartbeat is answered late.
    session.answer = () => new Promise((resolve) => setTimeout(resolve, 2_000, ALIVE));
    await jest.advanceTimersByTimeAsync(1);
    session.answer = async () => null;
    await jest.advanceTimersByTimeAsync(CUT_OFF_MS - 1);
    expect(told.givenUp).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(told.givenUp).toEqual([instanceId]);
    expect(lease.instanceId).not.toBe(instanceId);
    calls.length = 0;
    await jest.advanceTimersByTimeAsync(100 * LEASE_MS);
    expect([told.givenUp.length, told.lost.length]).toEqual([1, 0]);
    expect(new Set(calls.map(instanceOf))).toEqual(new Set([lease.instanceId]));
    expect(calls.some(({ heartbeat }) => heartbeat?.registered)).toBe(false);
  });

  it('ends even if it was idle, once what it begins is not answered either', async () => {
    let idle = true;
    const { lease, session, told } = start(() => idle);
    await jest.advanceTimersByTimeAsync(2_500);
    session.answer = async () => null;
    await jest.advanceTimersByTimeAsync(CUT_OFF_MS - 100);
    idle = false;
    lease.use();
    await jest.advanceTimersByTimeAsync(99);
    expect(told.givenUp).toHaveLength(0);
    await jest.advanceTimersByTimeAsync(1);
    expect(told.givenUp).toHaveLength(1);
  });

  it('ends again only after a limiter has answered it', async () => {
    const { session, told } = start(() => false);
    for (let ends = 1; ends <= 2; ends++) {
      session.answer = async () => ALIVE;
      await jest.advanceTimersByTimeAsync(1_000);
      session.answer = async () => null;
      await jest.advanceTimersByTimeAsync(10 * LEASE_MS);
      expect(told.givenUp).toHaveLength(ends);
    }
  });

  it('goes on while limiters answer that they cannot keep its lease', async () => {
    const { lease, session, told } = start(() => false);
    const { instanceId } = lease;
    await jest.advanceTimersByTimeAsync(1_000);
    session.answer = async () => FAILED;
    await jest.advanceTimersByTimeAsync(10 * LEASE_MS);
    expect([lease.instanceId, told.givenUp]).toEqual([instanceId, []]);
  });
});

describe('after the process stood still for longer than a lease', () => {
  it('the first heartbeat belongs to another instance', async () => {
    const { lease, calls, told } = start(() => false);
    const { instanceId } = lease;
    await jest.advanceTimersByTimeAsync(1_500);
    calls.length = 0;
    told.stoodStillMs = 2 * LEASE_MS;
    await jest.advanceTimersByTimeAsync(500);
    expect(told.givenUp).toEqual([instanceId]);
    expect(calls.map(instanceOf)).toEqual([lease.instanceId]);
  });

  it('the first request of an idle instance already belongs to another one', async () => {
    const { lease, calls, told } = start(() => true);
    const { instanceId } = lease;
    await jest.advanceTimersByTimeAsync(3_000);
    calls.length = 0;
    told.stoodStillMs = 2 * LEASE_MS;
    lease.use();
    expect(told.givenUp).toEqual([instanceId]);
    expect(calls.map(instanceOf)).toEqual([lease.instanceId]);
  });
});

describe('a reply for an instance that has ended', () => {
  it.each([
    ['alive', ALIVE],
    ['lost', { callId: 1, heartbeat: { leaseLost: true, leaseUnknown: false } } as never],
    ['failed', FAILED],
  ])('that says %s makes the next instance register, and changes nothing else', async (_says, reply) => {
    const { lease, told } = start(() => false);
    const hello = lease.heartbeatCall();
    lease.giveUp(lease.instanceId, '');
    const { instanceId } = lease;
    expect(lease.accept(reply, hello, Date.now())).toBe('again');
    expect(lease.heartbeatCall()).toEqual({ heartbeat: { instanceId, registered: false } });
    expect([told.lost, told.givenUp.length]).toEqual([[], 1]);
  });
});
