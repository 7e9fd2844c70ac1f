import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newInstanceId, newKeyId } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import { monthOf } from '@tidegate/limits';
import { eventually, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import type { AdmitInput } from '../admission/admit.ts';
import { LimiterError } from '../limiter-error.ts';
import type { NoticeHub } from '../notices/hub.ts';
import { Lock } from '../redis/lock.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { readOrgs } from '../seeding/rows.ts';
import { ensureLifeNames } from '../seeding/seed.ts';
import { Seeder } from '../seeding/seeder.ts';
import { anAdmitInput } from '../testing/admit-input.ts';
import {
  changePlan,
  connectDb,
  makeKey,
  makeOrg,
  openStore,
  PATIENT_READS,
  type TestKey,
  type TestStore,
} from '../testing/fixture.ts';
import { beatingInstance, monthOfOrg, Rig } from '../testing/rig.ts';
import type { SessionClient } from '../testing/session-client.ts';
import { Recovery } from './recovery.ts';

/**
 * Lets the test be slow, and leaves the search for lost state and the reaping to the limiter under
 * test. Otherwise the other limiters would take the reaper's lock as soon as their grace period is
 * over.
 */
const PATIENT = { leaseMs: 3_600_000, graceMs: 3_600_000, recoverEveryMs: 2_000_000_000 };
const A_MINUTE_MS = 60_000;

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let rig: Rig;
let store: TestStore;
let one: SessionClient;
let two: SessionClient;
/** With a limiter whose time is 30 s ahead. Anything lost now is still recovering there. */
let early: SessionClient;
/** With a limiter whose time is further ahead. Anything lost now has already recovered there. */
let late: SessionClient;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = connectDb(postgres.url);
  store = await openStore(redis.url);
  rig = new Rig(redis.url, db);
  const at = async (clockOffsetMs: number) =>
    rig.session(await rig.limiter({ clockOffsetMs, timing: PATIENT }));
  one = await at(0);
  two = await at(0);
  early = await at(A_MINUTE_MS / 2);
  late = await at(A_MINUTE_MS + 30_000);
});

afterAll(async () => {
  await rig.close();
  store.redis.disconnect();
  await closeDb(db);
  await Promise.all([redis.stop(), postgres.drop()]);
});

const restoreOf = (admission: AdmitInput, atMs: number) => {
  const { hasImages, reserve, ...what } = admission;
  return { ...what, admittedAtMs: atMs, reservedAtMs: reserve ? atMs : 0 };
};

describe('an organization', () => {
  it('is served immediately when it is new, through every limiter, and only after a minute if its state was lost', async () => {
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(one);
    const admit = () => anAdmitInput(key, instanceId);
    const first = await Promise.all(
      [one, two, one, two].map((session) => session.decide({ admit: admit() })),
    );
    expect(first.every(({ admitted }) => admitted)).toBe(true);

    await store.everywhere('flushall');
    await one.ask({ heartbeat: { instanceId } });
    for (const session of [one, two, early]) {
      const refused = (await session.decide({ admit: admit() })).rateLimited;
      expect(refused?.cause).toBe('CAUSE_RECOVERING');
      expect(refused?.retryAfterMs).toBeGreaterThan(0);
      expect(refused?.retryAfterMs).toBeLessThanOrEqual(A_MINUTE_MS);
      const { orgId, keyId } = key;
      expect((await session.decide({ countRequest: { orgId, keyId } })).rateLimited?.cause).toBe(
        'CAUSE_RECOVERING',
      );
      const take = await session.ask({ takeLargeBody: { orgId, instanceId, admissionId: 'large' } });
      expect(take.takeLargeBody?.result).toBe('RESULT_RECOVERING');
      expect(take.takeLargeBody?.retryAfterMs).toBeGreaterThan(0);
      expect(take.takeLargeBody?.retryAfterMs).toBeLessThanOrEqual(A_MINUTE_MS);
    }
    expect((await late.decide({ admit: admit() })).admitted).toBeTruthy();
  });

  it('without requests starts to recover soon after the loss, and every session is told', async () => {
    const { orgId } = await makeKey(db, await makeOrg(db));
    const limiter = await rig.limiter({ timing: { ...PATIENT, recoverEveryMs: 50 } });
    const looking = rig.session(limiter);
    await monthOfOrg(looking, orgId);
    await store.everywhere('flushall');
    await eventually(async () => store.redis.hget(store.names.org(orgId), 'opens_us'));
    const told = ({ notices }: SessionClient) =>
      notices.filter((n) => n.orgStateLost?.orgId === orgId).length;
    // The notice is repeated for gateways that missed it.
    await eventually(() => told(one) > 1 && told(looking) > 1);
    await limiter.close();
  });
});

describe('a change in Postgres that no limiter was told of', () => {
  const looking = async () => rig.limiter({ timing: { ...PATIENT, recoverEveryMs: 50 } });

  it('takes effect soon: a lowered plan', async () => {
    const key = await makeKey(db, await makeOrg(db, { requestsAtOnce: 5 }), { requestsAtOnce: 5 });
    const instanceId = await beatingInstance(one);
    expect((await one.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();
    await changePlan(db, key.orgId, { requestsAtOnce: 1 });
    const limiter = await looking();
    const { names, redis: direct } = store;
    await eventually(async () => (await direct.hget(names.org(key.orgId), 'at_once')) === '1');
    const refused = (await one.decide({ admit: anAdmitInput(key, instanceId) })).rateLimited;
    expect(refused?.cause).toBe('CAUSE_ORG_REQUESTS_AT_ONCE');
    await eventually(() => one.notices.some(({ orgChanged }) => orgChanged?.orgId === key.orgId));
    await limiter.close();
  });

  it('takes effect soon: a revocation', async () => {
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(one);
    expect((await one.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();
    await db.apiKey.update({ where: { id: key.keyId }, data: { revokedAt: new Date() } });
    const limiter = await looking();
    await eventually(
      async () => (await one.decide({ admit: anAdmitInput(key, instanceId) })).outcome === 'keyInvalid',
    );
    await limiter.close();
  });

  it('takes effect soon: a revocation before more than a thousand others', async () => {
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(one);
    expect((await one.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();
    const others = Array.from({ length: 1_050 }, () => ({ id: newKeyId(), hash: randomBytes(32) }));
    const row = await db.apiKey.update({
      where: { id: key.keyId },
      data: { revokedAt: new Date(Date.now() - 60_000) },
    });
    const revokedAt = new Date();
    await db.apiKey.createMany({
      data: others.map(({ id, hash }) => ({ ...row, id, hash: Uint8Array.from(hash), revokedAt })),
    });
    const limiter = await looking();
    await eventually(
      async () => (await one.decide({ admit: anAdmitInput(key, instanceId) })).outcome === 'keyInvalid',
    );
    // All have had their turn.
    await eventually(async () => {
      const names = others.map(({ id }) => store.names.key(key.orgId, id));
      return (await store.redis.exists(...names)) === others.length;
    });
    await limiter.close();
    await db.apiKey.deleteMany({ where: { orgId: key.orgId } });
  });
});

describe('a search for lost state', () => {
  it('counts organizations whose state was lost, and not those whose state was never written', async () => {
    const [lost, unwritten] = [await makeOrg(db), await makeOrg(db)];
    await monthOfOrg(one, lost);
    const scriptDeps = store.scriptDepsAt(0);
    const { names } = scriptDeps;
    await readOrgs(db, await ensureLifeNames(scriptDeps, [unwritten]));
    await store.redis.del(names.org(lost));
    const seeder = new Seeder(scriptDeps, db, PATIENT_READS);
    const notices = { publish: async () => {} } as unknown as NoticeHub;
    const lock = new Lock(scriptDeps.store, `${names.recoveryLock}:count`, 'test', 60_000);
    // Earlier tests may have left other organizations without state.
    await seeder.refreshOrgs(
      (await db.org.findMany()).map(({ id }) => id).filter((id) => id !== lost && id !== unwritten),
    );
    expect(await new Recovery({ ...scriptDeps, db, seeder, notices, lock }).run()).toBe(1);
    expect(await store.redis.hget(names.org(unwritten), 'version')).not.toBeNull();
    expect(await store.redis.hget(names.org(unwritten), 'opens_us')).toBeNull();
  });
});

describe('an organization whose master is unavailable', () => {
  it('does not keep others from being checked', async () => {
    const [affected, other] = [await makeOrg(db), await makeOrg(db)];
    for (const orgId of [affected, other]) await monthOfOrg(one, orgId);
    await changePlan(db, other, { requestsAtOnce: 7 });
    const scriptDeps = store.scriptDepsAt(0);
    const { names } = scriptDeps;
    const command: ScriptDeps['store']['command'] = (name, key, ...args) =>
      key === names.org(affected)
        ? Promise.reject(new LimiterError('redis', 'its master is unavailable'))
        : scriptDeps.store.command(name, key, ...args);
    const half = Object.assign(Object.create(scriptDeps.store), { command }) as ScriptDeps['store'];
    const seeder = new Seeder(scriptDeps, db, PATIENT_READS);
    const notices = { publish: async () => {} } as unknown as NoticeHub;
    const lock = new Lock(scriptDeps.store, `${names.recoveryLock}:test`, 'test', 60_000);
    const run = new Recovery({ ...scriptDeps, store: half, db, seeder, notices, lock }).run();
    await expect(run).rejects.toThrow('its master is unavailable');
    expect(await store.redis.hget(names.org(other), 'at_once')).toBe('7');
  });
});

describe('an instance', () => {
  it('that has lost only its lease and indexes is found by what it holds, and reaped', async () => {
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(one);
    expect((await one.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();
    const { names, redis: direct } = store;
    for (const name of [names.lease(instanceId), names.orgsOf(instanceId), names.instances, names.orgs])
      await direct.del(name);
    const timing = { ...PATIENT, leaseMs: 200, graceMs: 0, reapEveryMs: 50, recoverEveryMs: 50 };
    const looking = await rig.limiter({ timing });
    try {
      await eventually(async () => (await monthOfOrg(one, key.orgId)).inFlight === 0);
      expect(await monthOfOrg(one, key.orgId)).toMatchObject({ chargedTokens: 1_000, reservedTokens: 0 });
      await eventually(() => direct.sismember(names.orgs, key.orgId));
    } finally {
      // This limiter would reap the instances of the tests that follow.
      await looking.close();
    }
  });
});

describe('what a gateway restores', () => {
  let key: TestKey;
  let instanceId: string;

  beforeEach(async () => {
    key = await makeKey(db, await makeOrg(db, { requestsAtOnce: 3, tokensPerMonth: 3_500 }), {
      requestsAtOnce: 3,
    });
    instanceId = await beatingInstance(one);
  });

  async function loseWith(admissions: readonly AdmitInput[]): Promise<void> {
    for (const admit of admissions) expect((await one.decide({ admit })).admitted).toBeTruthy();
    await store.everywhere('flushall');
    const beat = async (registered: boolean) =>
      (await one.ask({ heartbeat: { instanceId, registered } })).heartbeat;
    expect(await beat(true)).toEqual({ leaseLost: false, leaseUnknown: true });
    // The first answer may have been lost.
    expect(await beat(true)).toEqual({ leaseLost: false, leaseUnknown: true });
    expect(await beat(false)).toEqual({ leaseLost: false, leaseUnknown: false });
  }

  it('holds its slots and reservations again when the organization opens', async () => {
    const reserved = [anAdmitInput(key, instanceId), anAdmitInput(key, instanceId)];
    const held = anAdmitInput(key, instanceId, { reserve: false });
    await loseWith([...reserved, held]);
    for (const admission of [...reserved, held])
      for (const session of [one, two])
        expect((await session.ask({ restore: restoreOf(admission, Date.now()) })).restore).toEqual({
          leaseLost: false,
        });

    expect((await late.decide({ admit: anAdmitInput(key, instanceId) })).rateLimited).toMatchObject({
      limit: 3,
    });
    await late.ask({ withdraw: held });
    const over = anAdmitInput(key, instanceId, { contextTokens: 1_501 });
    expect((await late.decide({ admit: over })).quotaExceeded).toMatchObject({ cause: 'CAUSE_TOKENS' });
    expect((await late.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();
    for (const settle of reserved) await one.ask({ settle: { ...settle, answered: true } });
    expect(await monthOfOrg(late, key.orgId)).toMatchObject({
      requests: 3,
      chargedTokens: 2_000,
      reservedTokens: 1_000,
      inFlight: 1,
    });
  });

  it('and settles before the month is seeded is counted once, whether Postgres has it already or not', async () => {
    const [written, unwritten] = [anAdmitInput(key, instanceId), anAdmitInput(key, instanceId)];
    await loseWith([written, unwritten]);
    const month = monthOf(Date.now());
    for (const admission of [written, unwritten]) {
      await one.ask({ restore: restoreOf(admission, Date.now()) });
      await one.ask({ settle: { ...admission, answered: true, usageValid: true, promptTokens: 5 } });
      // Restored once more, now as settled, as happens after a repeated notice.
      const settle = { ...admission, answered: true, usageValid: true, promptTokens: 5 };
      const again = await one.ask({ restore: { ...restoreOf(admission, Date.now()), settle } });
      expect(again.restore).toEqual({ leaseLost: false });
    }
    await db.$executeRaw`INSERT INTO month_total (org_id, month, requests, charged_tokens) VALUES (${key.orgId}, ${month}, 1, 5)`;
    await db.$executeRawUnsafe('CREATE TABLE request_all PARTITION OF request DEFAULT');
    await db.$executeRaw`
      INSERT INTO request (reservation_id, day, org_id, key_id, model_id, admitted_at, answered, streamed, reserved_tokens, charged_tokens)
      VALUES (${written.admissionId}, now(), ${key.orgId}, ${key.keyId}, 'm', now(), true, false, 1000, 5)`;
    await late.decide({ admit: anAdmitInput(key, instanceId) });
    expect(await monthOfOrg(late, key.orgId)).toMatchObject({
      requests: 3,
      chargedTokens: 10,
      reservedTokens: 1_000,
    });
  });

  it('is refused once the organization serves again, for a gateway that came too late', async () => {
    const admission = anAdmitInput(key, instanceId);
    await loseWith([admission]);
    await one.decide({ admit: anAdmitInput(key, instanceId) });
    const refused = await late.ask({ restore: restoreOf(admission, Date.now()) });
    expect(refused.restore).toEqual({ leaseLost: true });
    expect(await monthOfOrg(late, key.orgId)).toMatchObject({ inFlight: 0 });
    const unknown = restoreOf({ ...admission, instanceId: newInstanceId() }, Date.now());
    expect((await one.ask({ restore: unknown })).failed?.reason).toMatch(/no lease/);
  });

  it('of a large body takes its slot again, unless it comes too late', async () => {
    const { orgId } = key;
    const large = (id: string) => ({ orgId, instanceId, admissionId: id });
    for (const id of ['a', 'b']) await one.ask({ takeLargeBody: large(id) });
    await loseWith([]);
    for (const id of ['a', 'b', 'a']) {
      const taken = await one.ask({ takeLargeBody: { ...large(id), restore: true } });
      expect(taken.takeLargeBody?.result).toBe('RESULT_TAKEN');
    }
    const take = async (id: string) => (await late.ask({ takeLargeBody: large(id) })).takeLargeBody?.result;
    expect(await take('c')).toBe('RESULT_FULL');
    await late.ask({ releaseLargeBody: large('a') });
    const tooLate = await late.ask({ takeLargeBody: { ...large('late'), restore: true } });
    expect(tooLate.takeLargeBody?.result).toBe('RESULT_LEASE_LOST');
    expect(await take('d')).toBe('RESULT_TAKEN');
  });
});
