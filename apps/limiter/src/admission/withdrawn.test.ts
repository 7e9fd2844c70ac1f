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
  const keys = [test.names.open(orgId, instanceId), test.names.withdrawn(orgId, instanceId)] as const;
  await sendHeartbeat(scriptDeps, instanceId, false);
  const scope = { keyId: 'key', month: '-' };
  return {
    fence: () => test.redis.zadd(test.names.fenced(orgId), 1, instanceId),
    join: () => joinOrg(scriptDeps, instanceId, orgId),
    withdraw: (admissionId = newRequestId()) =>
      withdraw(scriptDeps, { orgId, instanceId, admissionId }, scope),
    release: (admissionId = newRequestId()) =>
      releaseLargeBody(scriptDeps, { orgId, instanceId, admissionId }),
    markers: () => Promise.all([test.redis.hgetall(keys[0]), test.redis.zrange(keys[1], '0', '-1')]),
    lives: () => Promise.all(keys.map((key) => test.redis.ttl(key))),
  };
}

describe('withdrawn markers', () => {
  it('of an instance that has not joined expire by themselves, once nothing can arrive late any more', async () => {
    const { withdraw, release, lives } = await overtaking();
    for (const overtake of [withdraw, release]) {
      await overtake();
      for (const seconds of await lives()) expect(seconds).toBeGreaterThan(MARKERS_STAY_S);
    }
  });

  it('do not expire once the instance may hold something, which would expire with them', async () => {
    const { withdraw, release, join, lives } = await overtaking();
    await withdraw();
    await join();
    expect(await lives()).toEqual([FOR_GOOD, FOR_GOOD]);
    await withdraw();
    await release();
    expect(await lives()).toEqual([FOR_GOOD, FOR_GOOD]);
  });

  it('stay as they are when the same call comes again', async () => {
    const { withdraw, release, markers } = await overtaking();
    const admissionId = newRequestId();
    expect(await withdraw(admissionId)).toEqual({ kind: 'unknown' });
    await release(admissionId);
    const left = await markers();
    expect(left[1]).toHaveLength(2);
    expect(await withdraw(admissionId)).toEqual({ kind: 'unknown' });
    await release(admissionId);
    expect(await markers()).toEqual(left);
  });

  it('are not left for a fenced instance, which is refused whatever it sends', async () => {
    const { withdraw, release, fence, markers } = await overtaking();
    await fence();
    expect(await withdraw()).toEqual({ kind: 'unknown' });
    await release();
    expect(await markers()).toEqual([{}, []]);
  });
});
