import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Settlement } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import { eventually, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { parseOutboxEntry } from '../outbox/entry.ts';
import { anAdmitInput } from '../testing/admit-input.ts';
import { connectDb, makeKey, makeOrg, openStore, type TestStore } from '../testing/fixture.ts';
import { beatingInstance, monthOfOrg, Rig } from '../testing/rig.ts';
import type { SessionClient } from '../testing/session-client.ts';

/** No instance dies by itself, however slow the machine is. */
const LEASE_MS = 3_600_000;
const TIMING = { leaseMs: LEASE_MS, graceMs: 0, reapEveryMs: 50 };

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let rig: Rig;
let store: TestStore;
/** Sessions with two limiters that both reap. */
let one: SessionClient;
let two: SessionClient;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = connectDb(postgres.url);
  store = await openStore(redis.url);
  rig = new Rig(redis.url, db);
  one = rig.session(await rig.limiter({ timing: TIMING }));
  two = rig.session(await rig.limiter({ timing: TIMING }));
});

afterAll(async () => {
  await rig.close();
  store.redis.disconnect();
  await closeDb(db);
  await Promise.all([redis.stop(), postgres.drop()]);
});

const outboxOf = async (orgId: string): Promise<(Settlement | null)[]> =>
  (await store.redis.xrange(store.names.outbox(orgId), '-', '+')).map(([id, fields]) =>
    parseOutboxEntry(orgId, id, fields[1] ?? ''),
  );

const setLastBeat = (instanceId: string, ms: number) =>
  store.redis.hset(store.names.lease(instanceId), 'beat_ms', ms);
const die = (instanceId: string) => setLastBeat(instanceId, 1);

describe('a dead gateway instance', () => {
  it('leaves one fully charged error for each reservation, and no longer holds anything [plan.settlement.failed]', async () => {
    const keys = await Promise.all([0, 1].map(async () => makeKey(db, await makeOrg(db))));
    const instanceId = await beatingInstance(one);
    const largeOnly = await makeOrg(db);
    await one.ask({ takeLargeBody: { orgId: largeOnly, instanceId, admissionId: 'large' } });
    for (const key of keys) {
      const reserved = Array.from({ length: 130 }, () => anAdmitInput(key, instanceId, { streamed: true }));
      const held = Array.from({ length: 20 }, () => anAdmitInput(key, instanceId, { reserve: false }));
      const outcomes = await Promise.all([...reserved, ...held].map((admit) => one.decide({ admit })));
      expect(outcomes.every((outcome) => outcome.admitted)).toBe(true);
      const { orgId } = key;
      await one.ask({ takeLargeBody: { orgId, instanceId, admissionId: 'large' } });
      await one.ask({ withdraw: anAdmitInput(key, instanceId) });
    }
    await die(instanceId);
    for (const { orgId, keyId } of keys) {
      await eventually(async () => (await monthOfOrg(two, orgId)).inFlight === 0);
      await eventually(async () => (await store.redis.exists(store.names.open(orgId, instanceId))) === 0);
      expect(await monthOfOrg(two, orgId)).toMatchObject({
        requests: 130,
        chargedTokens: 130_000,
        reservedTokens: 0,
      });
      const left = await outboxOf(orgId);
      expect(left).toHaveLength(130);
      expect(new Set(left.map((settlement) => settlement?.reservationId)).size).toBe(130);
      for (const settlement of left)
        expect(settlement).toMatchObject({
          orgId,
          keyId,
          answered: false,
          errorCode: 'gateway_lost',
          streamed: true,
          reservedTokens: 1_000,
          chargedTokens: 1_000,
          promptTokens: null,
          durationMs: null,
          firstChunkMs: null,
        });
      expect(await store.redis.hget(store.names.org(orgId), 'large')).toBe('0');
      expect(await store.redis.exists(store.names.withdrawn(orgId, instanceId))).toBe(0);
      expect(await store.redis.llen(store.names.keyWindow(orgId, keyId))).toBe(130);
    }
    await eventually(async () => (await store.redis.zscore(store.names.instances, instanceId)) === null);
    expect(await store.redis.exists(store.names.orgsOf(instanceId))).toBe(0);
    expect(await store.redis.hget(store.names.org(largeOnly), 'large')).toBe('0');
  });

  it('is told that its lease is lost, is refused in every organization, and cannot settle again', async () => {
    const key = await makeKey(db, await makeOrg(db));
    const elsewhere = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(one);
    const admission = anAdmitInput(key, instanceId);
    await one.decide({ admit: admission });
    await die(instanceId);
    await eventually(async () => (await monthOfOrg(two, key.orgId)).inFlight === 0);

    expect((await two.ask({ heartbeat: { instanceId } })).heartbeat).toEqual({
      leaseLost: true,
      leaseUnknown: false,
    });
    // The first organization is fenced. The instance has not joined the second one and no longer
    // can.
    for (const k of [key, elsewhere])
      for (const session of [one, two])
        expect((await session.decide({ admit: anAdmitInput(k, instanceId) })).leaseLost).toEqual({});
    const { orgId } = key;
    const take = await one.ask({ takeLargeBody: { orgId, instanceId, admissionId: 'x' } });
    expect(take.takeLargeBody?.result).toBe('RESULT_LEASE_LOST');
    expect((await one.decide({ reserve: admission })).leaseLost).toEqual({});
    await one.ask({ settle: { ...admission, answered: true, usageValid: true, promptTokens: 1 } });
    await one.ask({ withdraw: admission });
    expect(await monthOfOrg(one, orgId)).toMatchObject({ requests: 1, chargedTokens: 1_000 });
    expect(await outboxOf(orgId)).toHaveLength(1);
    expect(await store.redis.exists(store.names.open(orgId, instanceId))).toBe(0);
  });

  it('is one without heartbeats; one that sends them through any limiter keeps what it holds', async () => {
    const key = await makeKey(db, await makeOrg(db));
    const alive = await beatingInstance(one);
    const dead = await beatingInstance(one);
    await one.decide({ admit: anAdmitInput(key, alive) });
    await one.decide({ admit: anAdmitInput(key, dead) });
    for (const session of [one, two]) {
      const before = Date.now() - LEASE_MS / 2;
      await setLastBeat(alive, before);
      expect((await session.ask({ heartbeat: { instanceId: alive } })).heartbeat).toEqual({
        leaseLost: false,
        leaseUnknown: false,
      });
      expect(Number(await store.redis.hget(store.names.lease(alive), 'beat_ms'))).toBeGreaterThan(before);
    }
    await die(dead);
    await eventually(async () => (await monthOfOrg(two, key.orgId)).inFlight === 1);
    expect(await store.redis.hlen(store.names.open(key.orgId, alive))).toBe(1);
    expect(await store.redis.hlen(store.names.open(key.orgId, dead))).toBe(0);
  });
});
