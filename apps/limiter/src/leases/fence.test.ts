import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newInstanceId, newKeyId, newOrgId } from '@tidegate/contracts';
import { createRedisClient } from '@tidegate/redis';
import { eventually, type TestRedis, testRedis } from '@tidegate/testing';
import { admit } from '../admission/admit.ts';
import { failFast } from '../redis/connection.ts';
import { shardsOf } from '../redis/shards.ts';
import { Store } from '../redis/store.ts';
import { seedKey, seedMonth } from '../seeding/seed.ts';
import { anAdmitInput } from '../testing/admit-input.ts';
import { openStore, type TestStore } from '../testing/fixture.ts';
import { putOrg } from '../testing/org.ts';
import { fenceInstance, joinOrg, reapOrg, sendHeartbeat } from './lease.ts';

const LEASE_MS = 8_000;
const PLENTY = 1_000;
const LIMITS = { requestsPerMinute: PLENTY, requestsAtOnce: PLENTY };

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

/** Makes an organization with a key, and an instance that holds three admissions in it. */
async function holding() {
  const scriptDeps = test.scriptDepsAt(0);
  const [orgId, keyId, instanceId] = [newOrgId(), newKeyId(), newInstanceId()];
  await putOrg(scriptDeps, {
    orgId,
    version: 1,
    images: true,
    requestsPerMonth: PLENTY,
    tokensPerMonth: 1e9,
    ...LIMITS,
  });
  await seedKey(scriptDeps, {
    keyId,
    orgId,
    hash: Buffer.alloc(32),
    revoked: false,
    expiresAtMs: 0,
    modelIds: null,
    ...LIMITS,
  });
  await seedMonth(scriptDeps, orgId, scriptDeps.clock.month().name, { requests: 0, chargedTokens: 0 });
  await sendHeartbeat(scriptDeps, instanceId, false);
  await joinOrg(scriptDeps, instanceId, orgId);
  const ask = () => admit(scriptDeps, anAdmitInput({ orgId, keyId }, instanceId), scriptDeps.clock.month());
  for (let i = 0; i < 3; i++) expect((await ask()).kind).toBe('admitted');
  return { scriptDeps, orgId, instanceId, ask };
}

describe('an instance whose lease is lost', () => {
  it('is no longer admitted once its reaping has begun, and can be found until nothing is left', async () => {
    const { scriptDeps, orgId, instanceId, ask } = await holding();
    expect(await fenceInstance(test.scriptDepsAt(2 * LEASE_MS), instanceId, LEASE_MS)).toBe('dead');
    expect(await reapOrg(scriptDeps, instanceId, orgId, 1)).not.toBeNull();

    expect((await ask()).kind).toBe('lease_lost');
    expect(await joinOrg(scriptDeps, instanceId, orgId)).toBe(false);
    expect((await ask()).kind).toBe('lease_lost');
    expect(await test.redis.hkeys(test.names.org(orgId))).toContain(`in:${instanceId}`);

    await test.redis.del(test.names.open(orgId, instanceId));
    expect(await reapOrg(scriptDeps, instanceId, orgId, 1)).toBeNull();
    expect(await test.redis.hkeys(test.names.org(orgId))).not.toContain(`in:${instanceId}`);
    expect((await ask()).kind).toBe('need_join');
    expect(await joinOrg(scriptDeps, instanceId, orgId)).toBe(false);
  });

  it('is reaped with everything admitted while an older limiter had fenced it only in the sorted set', async () => {
    const { scriptDeps, orgId, instanceId, ask } = await holding();
    await test.redis.zadd(test.names.fenced(orgId), Date.now() * 1_000, instanceId);
    expect((await ask()).kind).toBe('admitted');
    expect(await reapOrg(scriptDeps, instanceId, orgId, PLENTY)).toHaveLength(4);
    expect((await ask()).kind).toBe('lease_lost');
  });

  it('leaves nothing in an organization that it was about to join', async () => {
    const { scriptDeps, orgId, instanceId } = await holding();
    const other = newInstanceId();
    expect(await reapOrg(scriptDeps, other, orgId, 1)).toBeNull();
    const fields = await test.redis.hkeys(test.names.org(orgId));
    expect(fields).toContain(`in:${instanceId}`);
    expect(fields).not.toContain(`in:${other}`);
  });
});

describe('a Redis that stands still', () => {
  const STILL_MS = 2_000;
  /** How many scripts the servers have run. */
  const scriptsRun = async () => {
    const told = await test.everywhere('info', 'commandstats');
    return [...told.join().matchAll(/cmdstat_evalsha:calls=(\d+)/g)].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    );
  };
  const signal = (name: NodeJS.Signals) => {
    for (const pid of redis.pids) process.kill(pid, name);
  };

  it('ends no instance that it was asked about meanwhile, because no heartbeat could reach it', async () => {
    const instanceId = newInstanceId();
    const scriptDeps = test.scriptDepsAt(0);
    await sendHeartbeat(scriptDeps, instanceId, false);
    const client = createRedisClient(redis.url, failFast(STILL_MS));
    client.on('error', () => {});
    const shards = shardsOf(client);
    await client.connect();
    await eventually(() => shards.whole());
    const asking = { ...scriptDeps, store: new Store({ shards }) };
    expect(await fenceInstance(asking, instanceId, LEASE_MS)).toBe('alive');
    const before = await scriptsRun();
    signal('SIGSTOP');
    try {
      // Redis has the question, and nobody waits for the answer any more.
      await expect(fenceInstance(asking, instanceId, STILL_MS / 2)).rejects.toThrow('redis');
    } finally {
      client.disconnect();
      signal('SIGCONT');
    }
    await eventually(async () => (await scriptsRun()) > before);
    expect(await sendHeartbeat(scriptDeps, instanceId, true)).toBe('alive');
  });
});
