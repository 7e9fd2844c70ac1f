import { describe, expect, it } from '@jest/globals';
import { PASSED, type Passed, type Refusal } from '@tidegate/contracts';
import { ByteBudget } from '../body/byte-budget.ts';
import { Activity } from '../catalog/activity.ts';
import { TOO_MANY_LARGE_BODIES } from '../limiter/admission.ts';
import type {
  AdmissionHandle,
  AdmitRequest,
  RemoteLimiter,
  SettleRequest,
} from '../limiter/remote-limiter.ts';
import { INTERNAL_ERROR } from '../refusals.ts';
import { admitted } from '../testing/fake-limiter.ts';
import { Holdings } from './holdings.ts';

const request: AdmitRequest = {
  keyId: 'key_1',
  modelId: 'mdl_1',
  contextTokens: 10,
  streamed: false,
  hasImages: false,
  reserve: true,
};

/** A limiter that grants whatever is asked for, under the current instance. */
function start({ largeBody = PASSED as Passed | Refusal } = {}) {
  const state = { instanceId: 'old', calls: [] as string[], settlements: [] as SettleRequest[] };
  const ended = (kind: string) => async (handle: AdmissionHandle) => {
    state.calls.push(`${kind} ${handle.instanceId}`);
  };
  const limiter = {
    admissionHandle: (orgId: string, admissionId: string) => ({
      orgId,
      instanceId: state.instanceId,
      admissionId,
    }),
    takeLargeBody: async () => largeBody,
    admit: async () => admitted.admitted,
    withdraw: ended('withdraw'),
    settle: (handle: AdmissionHandle, settlement: SettleRequest) => {
      state.settlements.push(settlement);
      return ended('settle')(handle);
    },
    releaseLargeBody: ended('releaseLargeBody'),
  } as unknown as RemoteLimiter;
  const shared = { limiter, bodyBudget: new ByteBudget(1_000), activity: new Activity() };
  return { held: new Holdings(shared, 'org_1', 'chatcmpl-1'), state, shared };
}

describe('the loss of a lease', () => {
  it('takes what is held under it, and leaves what is held under another', async () => {
    const { held, state } = start();
    await held.takeLargeBody();
    state.instanceId = 'new';
    await held.admit(request);
    expect(held.forget('old')).toBe(true);
    expect(held.forget('old')).toBe(false);
    await held.release(INTERNAL_ERROR, null);
    expect(state.calls).toEqual(['withdraw new']);
  });

  it('takes an admission, and leaves a large body that is held under another', async () => {
    const { held, state } = start();
    await held.admit(request);
    state.instanceId = 'new';
    await held.takeLargeBody();
    expect(held.forget('old')).toBe(true);
    await held.release(INTERNAL_ERROR, null);
    expect(state.calls).toEqual(['releaseLargeBody new']);
  });

  it('does not affect a request that holds nothing', () => {
    expect(start().held.forget('old')).toBe(false);
  });
});

describe('a slot for a large body', () => {
  it.each([
    ['none is free', TOO_MANY_LARGE_BODIES],
    ['the limiter fails', INTERNAL_ERROR],
  ])('is refused when %s, and nothing is left to release', async (_when, largeBody) => {
    const { held, state } = start({ largeBody });
    expect(await held.takeLargeBody()).toBe(largeBody);
    await held.release(INTERNAL_ERROR, null);
    expect(state.calls).toEqual([]);
  });
});

describe('a counted request', () => {
  it('is settled once, with the time since it was counted', async () => {
    const { held, state } = start();
    await held.admit(request);
    const beforeMs = performance.now();
    held.count();
    await held.release(INTERNAL_ERROR, null);
    await held.release(INTERNAL_ERROR, null);
    const mostMs = Math.ceil(performance.now() - beforeMs);
    expect(state.calls).toEqual(['settle old']);
    const [settlement] = state.settlements;
    expect(settlement?.durationMs).toBeGreaterThanOrEqual(0);
    expect(settlement?.durationMs).toBeLessThanOrEqual(mostMs);
    expect(settlement?.firstChunkMs).toBe(0);
  });

  it('is settled with the time of its first chunk, which is never 0', async () => {
    const atOnce = start();
    const later = start();
    const beforeMs = performance.now();
    for (const { held } of [atOnce, later]) {
      await held.admit(request);
      held.count();
    }
    await atOnce.held.release(INTERNAL_ERROR, performance.now() - 60_000);
    await later.held.release(INTERNAL_ERROR, performance.now() + 3_000);
    expect(atOnce.state.settlements[0]?.firstChunkMs).toBe(1);
    const mostMs = Math.ceil(performance.now() - beforeMs) + 3_000;
    expect(later.state.settlements[0]?.firstChunkMs).toBeGreaterThanOrEqual(3_000);
    expect(later.state.settlements[0]?.firstChunkMs).toBeLessThanOrEqual(mostMs);
  });
});

describe('memory', () => {
  it('is given back once the request has ended, all of it and only once', async () => {
    const { held, shared } = start();
    expect(held.takeBytes(100)).toBe(PASSED);
    expect(held.takeBytes(150)).toBe(PASSED);
    expect(shared.bodyBudget.take('org_1', 1)).toBe(false);
    await held.release(INTERNAL_ERROR, null);
    expect(shared.bodyBudget.take('org_1', 250)).toBe(true);
    await held.release(INTERNAL_ERROR, null);
    expect(shared.bodyBudget.take('org_1', 1)).toBe(false);
  });
});
