import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { LostGrant } from './grants.ts';
import { Restores } from './restores.ts';
import type { LimiterCall, LimiterReply } from './session.ts';

const RETRY_MS = 500;
const AT_ONCE = 1_000;
const DONE = { callId: 1, restore: {} } as unknown as LimiterReply;
const FAILED = { callId: 1, failed: { reason: 'there is no connection' } } as unknown as LimiterReply;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

interface Kept {
  readonly orgId: string;
  admissionId: string;
  forgotten: boolean;
}

/** Restores what the test keeps, to a limiter that answers as the test decides. */
function start(admissions: readonly string[] = []) {
  const all = admissions.map((admissionId): Kept => ({ orgId: 'org_1', admissionId, forgotten: false }));
  const told = {
    made: 0,
    sent: [] as string[],
    restored: [] as string[],
    rounds: [] as (string | undefined)[],
  };
  const limiter = { answer: async (_id: string): Promise<LimiterReply | null> => DONE };
  const call = ({ restore }: LimiterCall) => {
    const id = restore?.admissionId ?? '';
    told.sent.push(id);
    return limiter.answer(id);
  };
  function* lost(orgId?: string): Generator<LostGrant> {
    told.rounds.push(orgId);
    for (const one of all) {
      if (orgId !== undefined && one.orgId !== orgId) continue;
      told.made++;
      const { admissionId } = one;
      const restore = { restore: { admissionId } };
      const isDropped = () => one.forgotten;
      yield { subject: one, instanceId: 'ins_1', restore, isHeld: () => true, ended: () => null, isDropped };
    }
  }
  const onRestored = ({ restore }: LostGrant) => told.restored.push(restore.restore?.admissionId ?? '');
  return { all, told, limiter, restores: new Restores({ call, lost, retryMs: RETRY_MS, onRestored }) };
}

const many = (count: number) => Array.from({ length: count }, (_, i) => `a${i}`);
const settle = () => jest.advanceTimersByTimeAsync(0);

describe('restores', () => {
  it('are built and sent as others are acknowledged, never more than a thousand at once', async () => {
    const { told, limiter, restores } = start(many(2_500));
    const open: (() => void)[] = [];
    limiter.answer = () => new Promise((resolve) => open.push(() => resolve(DONE)));
    restores.restore();
    await settle();
    expect([told.made, told.sent.length, restores.busy]).toEqual([AT_ONCE, AT_ONCE, true]);
    for (const answer of open.splice(0, 10)) answer();
    await settle();
    expect([told.made, told.sent.length]).toEqual([AT_ONCE + 10, AT_ONCE + 10]);
    while (open.length > 0) {
      open.shift()?.();
      await Promise.resolve();
    }
    await settle();
    expect([new Set(told.restored).size, told.sent.length, restores.busy]).toEqual([2_500, 2_500, false]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('that fail are sent again until they are acknowledged, and then nothing wakes the process', async () => {
    const { told, limiter, restores } = start(['a', 'b']);
    limiter.answer = async (id) => (id === 'a' ? FAILED : DONE);
    restores.restore();
    await jest.advanceTimersByTimeAsync(3 * RETRY_MS);
    expect(told.sent).toEqual(['a', 'b', 'a', 'a', 'a']);
    expect([told.restored, restores.busy]).toEqual([['b'], true]);
    limiter.answer = async () => DONE;
    await jest.advanceTimersByTimeAsync(RETRY_MS);
    expect([told.restored, restores.busy]).toEqual([['b', 'a'], false]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('that all fail are at most a thousand in each attempt, and none is left out', async () => {
    const { told, limiter, restores } = start(many(2_500));
    limiter.answer = async () => null;
    restores.restore();
    await settle();
    for (let attempts = 1; attempts <= 4; attempts++) {
      expect(told.sent).toHaveLength(attempts * AT_ONCE);
      restores.retry();
      await settle();
    }
    limiter.answer = async () => DONE;
    restores.retry();
    await settle();
    expect([new Set(told.restored).size, restores.busy]).toEqual([2_500, false]);
  });

  it('of an instance that has ended are not sent, nor sent again', async () => {
    const { all, told, limiter, restores } = start(['a', 'b']);
    const [a, b] = all as [Kept, Kept];
    b.forgotten = true;
    limiter.answer = async () => FAILED;
    restores.restore();
    await settle();
    a.forgotten = true;
    await jest.advanceTimersByTimeAsync(RETRY_MS);
    expect([told.sent, restores.busy]).toEqual([['a'], false]);
  });

  it('asked for while others are under way follow once, and for one organization only its own', async () => {
    const { all, told, limiter, restores } = start(many(AT_ONCE));
    all.push({ orgId: 'org_2', admissionId: 'other', forgotten: false });
    let answer = () => {};
    limiter.answer = () => new Promise((resolve) => (answer = () => resolve(DONE)));
    restores.restore();
    for (let i = 0; i < 3; i++) restores.restore('org_2');
    limiter.answer = async () => DONE;
    answer();
    await settle();
    expect(told.rounds).toEqual([undefined, 'org_2']);
    expect(told.sent.slice(AT_ONCE)).toEqual(['other', 'other']);
  });

  it('are not sent again automatically after a stop', async () => {
    const { told, limiter, restores } = start(['a']);
    limiter.answer = async () => FAILED;
    restores.restore();
    restores.stop();
    await jest.advanceTimersByTimeAsync(10 * RETRY_MS);
    expect(told.sent).toEqual(['a']);
    expect(jest.getTimerCount()).toBe(0);
  });
});

it('a restore that may have been done is sent again as it was, although its grant has changed since', async () => {
  const { all, told, limiter, restores } = start(['open']);
  limiter.answer = async () => null;
  restores.restore();
  await settle();
  const [kept] = all as [Kept];
  kept.admissionId = 'settled';
  restores.restore();
  await settle();
  limiter.answer = async () => DONE;
  restores.retry();
  await settle();
  expect(told.sent).toEqual(['open', 'settled', 'open']);
  expect([told.restored, restores.busy]).toEqual([['open'], false]);
});
