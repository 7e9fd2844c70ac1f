import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newInstanceId, newOrgId, newRequestId } from '@tidegate/contracts';
import { type TestRedis, testRedis } from '@tidegate/testing';
import { joinOrg, sendHeartbeat } from '../leases/lease.ts';
import { openStore, type TestStore } from '../testing/fixture.ts';
import { releaseLargeBody } from './large-body.ts';
import { withdraw } from './withdraw.ts';

let redis: TestRedis;
let test: TestStore;

beforeAll(async () => {
  redis = await testRedis();
  test = await openStore(redis.url);
});

afterAll(async () => {
  test.redis.disconnect();
  await redis.stop();
});

const MARKERS_STAY_S = 600;
const FOR_GOOD = -1;

async function overtaking() {
  const scriptDeps = test.scriptDepsAt(0);
  const [orgId, instanceId] = [newOrgId(), newInstanceId()];
  const keys = [test.names.open(orgId, instanceId), test.names.withdrawn(orgId, instanceId)];
  await sendHeartbeat(scriptDeps, instanceId, false);
  return {
    join: () => joinOrg(scriptDeps, instanceId, orgId),
    withdraw: () =>
      withdraw(scriptDeps, { orgId, instanceId, admissionId: newRequestId() }, { keyId: 'key', month: '-' }),
    release: () => releaseLargeBody(scriptDeps, { orgId, instanceId, admissionId: newRequestId() }),
    lives: () => Promise.all(keys.map((key) => test.redis.ttl(key))),
  };
}

describe('withdrawn markers', () => {
  it('of an instance that has not joined expire by themselves, once nothing can be late any more', async () => {
    const { withdraw, release, lives } = await overtaking();
    for (const overtake of [withdraw, release]) {
      await overtake();
      for (const seconds of await lives()) expect(seconds).toBeGreaterThan(MARKERS_STAY_S);
    }
  });

  it('take nothing else with them when they expire, once the instance may hold something', async () => {
    const { withdraw, release, join, lives } = await overtaking();
    await withdraw();
    await join();
    expect(await lives()).toEqual([FOR_GOOD, FOR_GOOD]);
    await withdraw();
    await release();
    expect(await lives()).toEqual([FOR_GOOD, FOR_GOOD]);
  });
});
