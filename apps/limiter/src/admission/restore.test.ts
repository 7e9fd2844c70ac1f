import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newOrgId, newRequestId } from '@tidegate/contracts';
import { type TestRedis, testRedis } from '@tidegate/testing';
import type { ScriptDeps } from '../script-deps.ts';
import { openStore, ROOMY_PLAN, type TestStore } from '../testing/fixture.ts';
import { putInstance, putKey, putOrg } from '../testing/org.ts';
import { releaseLargeBody, takeLargeBody } from './large-body.ts';
import { type LostAdmission, restore, restoreSettled } from './restore.ts';
import { settle } from './settle.ts';
import { withdraw } from './withdraw.ts';

let redis: TestRedis;
let test: TestStore;
let scriptDeps: ScriptDeps;
let lost: LostAdmission;

beforeAll(async () => {
  redis = await testRedis();
  test = await openStore(redis.url);
  scriptDeps = test.scriptDepsAt(0);
});

/** An organization that is recovering, and a reserved admission that its gateway remembers. */
beforeEach(async () => {
  const orgId = newOrgId();
  await putOrg(scriptDeps, { orgId, version: 1, ...ROOMY_PLAN }, false);
  const [keyId, instanceId] = [await putKey(scriptDeps, orgId), await putInstance(scriptDeps, orgId)];
  const [admittedAtMs, reservedAtMs] = [Date.now(), Date.now()];
  const what = { modelId: 'mdl_test', contextTokens: 1_000, streamed: false, admittedAtMs, reservedAtMs };
  lost = { orgId, keyId, instanceId, admissionId: newRequestId(), ...what };
});

afterAll(async () => {
  test.redis.disconnect();
  await redis.stop();
});

const END = {
  answered: true,
  usage: { promptTokens: 3, completionTokens: 4 },
  durationMs: 12,
  errorCode: null,
  firstChunkMs: null,
};
const month = () => scriptDeps.clock.month().name;

async function held() {
  const { orgId, keyId } = lost;
  const [org, key, reserved, outbox] = await Promise.all([
    test.redis.hget(test.names.org(orgId), 'in_flight'),
    test.redis.hget(test.names.key(orgId, keyId), 'in_flight'),
    test.redis.hget(test.names.month(orgId, month()), 'reserved'),
    test.redis.xlen(test.names.outbox(orgId)),
  ]);
  return { org: Number(org), key: Number(key), reserved: Number(reserved), outbox };
}

describe('a repeated restore', () => {
  it('holds one slot and one reservation', async () => {
    expect(await restore(scriptDeps, lost)).toBe('restored');
    expect(await restore(scriptDeps, lost)).toBe('present');
    expect(await held()).toEqual({ org: 1, key: 1, reserved: 1_000, outbox: 0 });
  });

  it('that arrives after the settlement holds nothing, and nothing is charged twice', async () => {
    await restore(scriptDeps, lost);
    const settled = () => settle(scriptDeps, lost, { keyId: lost.keyId, month: month() }, END);
    expect((await settled()).kind).toBe('settled');
    expect(await restore(scriptDeps, lost)).toBe('present');
    expect((await settled()).kind).toBe('unknown');
    expect(await held()).toEqual({ org: 0, key: 0, reserved: 0, outbox: 1 });
  });

  it('that arrives after the withdrawal holds nothing', async () => {
    const admission = { keyId: lost.keyId, month: month() };
    await restore(scriptDeps, lost);
    expect(await withdraw(scriptDeps, lost, admission)).toEqual({ kind: 'withdrawn' });
    expect(await restore(scriptDeps, lost)).toBe('lease_lost');
    expect(await held()).toEqual({ org: 0, key: 0, reserved: 0, outbox: 0 });
  });

  it('of a large body that arrives after its release holds nothing', async () => {
    expect(await takeLargeBody(scriptDeps, lost, true)).toEqual({ kind: 'taken' });
    await releaseLargeBody(scriptDeps, lost);
    expect(await takeLargeBody(scriptDeps, lost, true)).toEqual({ kind: 'lease_lost' });
    expect(await test.redis.hget(test.names.org(lost.orgId), 'large')).toBe('0');
  });

  it('that arrives after the settlement itself was restored holds nothing', async () => {
    expect((await restoreSettled(scriptDeps, lost, END)).kind).toBe('settled');
    expect(await restore(scriptDeps, lost)).toBe('present');
    expect(await held()).toEqual({ org: 0, key: 0, reserved: 0, outbox: 1 });
  });
});
