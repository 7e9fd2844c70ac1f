import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newKeyId, newOrgId } from '@tidegate/contracts';
import { type TestRedis, testRedis } from '@tidegate/testing';
import { LimiterError } from '../limiter-error.ts';
import type { Store } from '../redis/store.ts';
import { openStore, ROOMY_KEY, type TestStore } from '../testing/fixture.ts';
import { putOrg } from '../testing/org.ts';
import type { KeyRow } from './rows.ts';
import { ensureLifeNames, revokeKey, seedKey, seedMonth } from './seed.ts';

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

const anOrg = () => ({
  orgId: newOrgId(),
  version: 2,
  images: true,
  requestsPerMinute: 2,
  requestsAtOnce: 2,
  requestsPerMonth: 2,
  tokensPerMonth: 2,
});

describe('a late read of Postgres', () => {
  it('does not bring a revoked key back, and the revoked key expires', async () => {
    const key: KeyRow = {
      keyId: newKeyId(),
      orgId: newOrgId(),
      hash: Buffer.alloc(32, 1),
      revoked: false,
      requestsPerMinute: 60,
      requestsAtOnce: 4,
      expiresAtMs: 0,
      modelIds: null,
    };
    const scriptDeps = test.scriptDepsAt(0);
    const state = () => test.redis.hget(test.names.key(key.orgId, key.keyId), 'state');
    await seedKey(scriptDeps, key);
    await revokeKey(scriptDeps, key.orgId, key.keyId, key.hash);
    const kept = [test.names.key(key.orgId, key.keyId), test.names.hash(key.orgId, key.hash.toString('hex'))];
    for (const late of [key, { ...key, revoked: true }]) {
      await seedKey(scriptDeps, late);
      expect(await state()).toBe('revoked');
      for (const name of kept) expect(await test.redis.ttl(name)).toBeGreaterThan(86_400);
    }
  });

  it.each([
    ['a day after it has expired', 3_600_000, 90_000],
    ['a day after it was asked for, if it had expired before', -3_600_000, 86_400],
  ])('keeps an expiring key in Redis until %s', async (_when, expiresInMs, keptS) => {
    const scriptDeps = test.scriptDepsAt(0);
    const key: KeyRow = {
      ...ROOMY_KEY,
      keyId: newKeyId(),
      orgId: newOrgId(),
      hash: Buffer.alloc(32, 2),
      revoked: false,
      expiresAtMs: scriptDeps.clock.nowMs() + expiresInMs,
    };
    for (let again = 0; again < 2; again++) {
      await seedKey(scriptDeps, key);
      for (const name of [
        test.names.key(key.orgId, key.keyId),
        test.names.hash(key.orgId, key.hash.toString('hex')),
      ])
        expect(Math.abs((await test.redis.ttl(name)) - keptS)).toBeLessThan(120);
    }
  });

  it('does not bring older limits back, and does not change the requests in flight', async () => {
    const org = anOrg();
    const scriptDeps = test.scriptDepsAt(0);
    const limits = () => test.redis.hmget(test.names.org(org.orgId), 'version', 'rpm', 'in_flight');
    await putOrg(scriptDeps, org);
    await test.redis.hset(test.names.org(org.orgId), 'in_flight', 1);
    await putOrg(scriptDeps, { ...org, version: 1, requestsPerMinute: 1 });
    expect(await limits()).toEqual(['2', '2', '1']);
    await putOrg(scriptDeps, { ...org, version: 3, requestsPerMinute: 3 });
    expect(await limits()).toEqual(['3', '3', '1']);
  });

  it('does not reset a month that has reservations', async () => {
    const org = anOrg();
    const { orgId } = org;
    const scriptDeps = test.scriptDepsAt(0);
    await putOrg(scriptDeps, org);
    const name = test.names.month(orgId, '2026-06');
    await seedMonth(scriptDeps, orgId, '2026-06', { requests: 5, chargedTokens: 50 });
    await test.redis.hincrby(name, 'requests', 1);
    await seedMonth(scriptDeps, orgId, '2026-06', { requests: 5, chargedTokens: 50 });
    expect(await test.redis.hgetall(name)).toEqual({ requests: '6', charged: '50', reserved: '0' });
  });
});

describe('a read of a month that began before Redis lost its data', () => {
  it('seeds nothing before the organization admits again, because gateways may still restore', async () => {
    const org = anOrg();
    const { orgId } = org;
    const scriptDeps = test.scriptDepsAt(0);
    const name = test.names.month(orgId, '2026-06');
    const seed = (offsetMs = 0) =>
      seedMonth(test.scriptDepsAt(offsetMs), orgId, '2026-06', { requests: 5, chargedTokens: 50 });
    await seed();
    expect(await test.redis.exists(name)).toBe(0);
    await putOrg(scriptDeps, org, false);
    await seed();
    expect(await test.redis.exists(name)).toBe(0);
    await seed(61_000);
    expect(await test.redis.hget(name, 'charged')).toBe('50');
  });
});

describe("a life of an organization's state", () => {
  it('is not used if Redis loses it while it is being named', async () => {
    const emptied = {
      command(command: string, key: string, ...args: string[]) {
        const reply = test.store.command(command, key, ...args);
        if (command === 'hsetnx') void test.store.command('del', key);
        return reply;
      },
    };
    const scriptDeps = { ...test.scriptDepsAt(0), store: emptied as unknown as Store };
    await expect(ensureLifeNames(scriptDeps, [newOrgId()])).rejects.toThrow(LimiterError);
  });
});
