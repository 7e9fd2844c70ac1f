import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { closeDb, type Db } from '@tidegate/db';
import { monthOf } from '@tidegate/limits';
import { callUnary } from '@tidegate/rpc';
import { createLogger } from '@tidegate/runtime';
import { eventually, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { DeletedOrgs } from '../deletion/deleted-orgs.ts';
import { NoticeHub } from '../notices/hub.ts';
import type { RedisLink } from '../redis/link.ts';
import { Seeder } from '../seeding/seeder.ts';
import { anAdmitInput } from '../testing/admit-input.ts';
import { changePlan, connectDb, makeKey, makeOrg, openStore, type TestStore } from '../testing/fixture.ts';
import { beatingInstance, monthOfOrg, PATIENT_CALL, Rig } from '../testing/rig.ts';
import type { SessionClient } from '../testing/session-client.ts';
import { OlderCopies } from './older-copies.ts';

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let store: TestStore;
let rig: Rig;
let session: SessionClient;
let logged: string;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = connectDb(postgres.url);
  store = await openStore(redis.url);
});
afterAll(async () => {
  store.redis.disconnect();
  await closeDb(db);
  await Promise.all([redis.stop(), postgres.drop()]);
});
beforeEach(async () => {
  logged = '';
  rig = new Rig(redis.url, db);
  session = rig.session(await rig.limiter());
});
afterEach(() => rig.close());

/** Starts a limiter beside the older copy. Resolves when its log has these words. */
async function startBeside(said: string): Promise<void> {
  const destination = {
    write: (line: string) => {
      logged += line;
    },
  };
  await rig.limiter({ logger: createLogger({ service: 'limiter', level: 'warn', destination }) });
  await eventually(() => logged.includes(said));
}

async function usedKey(limits: { requestsPerMonth?: number } = {}) {
  const key = await makeKey(db, await makeOrg(db, limits));
  const instanceId = await beatingInstance(session);
  const admit = () => session.decide({ admit: anAdmitInput(key, instanceId) });
  expect((await admit()).admitted).toBeTruthy();
  return { key, orgId: key.orgId, admit };
}

describe('beside an older Redis', () => {
  it('a month has at least what Postgres has, so that its quota holds', async () => {
    const { orgId, admit } = await usedKey({ requestsPerMonth: 5 });
    const month = monthOf(Date.now());
    await db.monthTotal.create({ data: { orgId, month, requests: 5, chargedTokens: 70 } });
    await startBeside('They were raised');
    expect(await monthOfOrg(session, orgId)).toMatchObject({ requests: 5, chargedTokens: 70 });
    expect((await admit()).quotaExceeded).toMatchObject({ cause: 'CAUSE_REQUESTS' });
    expect(logged).toContain(orgId);
  });

  it('a month that has more than Postgres stays as it is', async () => {
    const more = await usedKey();
    const less = await usedKey();
    const month = monthOf(Date.now());
    await more.admit();
    await db.monthTotal.create({ data: { orgId: more.orgId, month, requests: 1, chargedTokens: 0 } });
    await db.monthTotal.create({ data: { orgId: less.orgId, month, requests: 9, chargedTokens: 0 } });
    await startBeside('They were raised');
    expect(await monthOfOrg(session, more.orgId)).toMatchObject({ requests: 2, chargedTokens: 0 });
    expect(logged).not.toContain(more.orgId);
  });

  it('a key that was revoked long ago is refused', async () => {
    const { key, admit } = await usedKey();
    await db.apiKey.update({ where: { id: key.keyId }, data: { revokedAt: new Date('2026-01-01') } });
    await startBeside('are refused now');
    expect((await admit()).outcome).toBe('keyInvalid');
  });
});

/** In a cluster, the limiter is already connected to a replica that takes over. */
it('a replica that has taken over is compared, too', async () => {
  const replicas = store.shards.all().map((server) => server.duplicate());
  await Promise.all(replicas.map((replica) => replica.connect()));
  let serving = store.shards.all();
  const link = { shards: { all: () => serving }, ready: () => true } as unknown as RedisLink;
  const scriptDeps = store.scriptDepsAt(0);
  const notices = new NoticeHub({ store: scriptDeps.store, connect: link.connect, channel: 'none' });
  const parts = { ...scriptDeps, db, link, notices };
  const copies = new OlderCopies({
    ...parts,
    seeder: new Seeder(scriptDeps, db),
    deletedOrgs: new DeletedOrgs(parts),
    logger: createLogger({ service: 'limiter', level: 'silent' }),
  });
  try {
    const { key, admit } = await usedKey();
    await copies.run();
    // As after a revocation that reached the old master but not the replica.
    await db.apiKey.delete({ where: { id: key.keyId } });
    await copies.run();
    expect((await admit()).admitted).toBeTruthy();
    serving = replicas;
    await copies.run();
    expect((await admit()).outcome).toBe('keyInvalid');
  } finally {
    for (const replica of replicas) replica.disconnect();
  }
});

describe('beside an older Postgres', () => {
  it('a key that it does not have is refused, since no one could revoke it', async () => {
    const { key, admit } = await usedKey();
    const kept = await usedKey();
    await db.apiKey.delete({ where: { id: key.keyId } });
    await startBeside('are refused now');
    expect((await admit()).outcome).toBe('keyInvalid');
    expect((await kept.admit()).admitted).toBeTruthy();
  });

  it('an expired key that it does not have is not named', async () => {
    const [expired, lost] = [await usedKey(), await usedKey()];
    await store.redis.hset(store.names.key(expired.orgId, expired.key.keyId), 'expires_at_ms', 1);
    await db.apiKey.deleteMany({ where: { id: { in: [expired.key.keyId, lost.key.keyId] } } });
    await startBeside('are refused now');
    expect(logged).toContain(lost.key.keyId);
    expect(logged).not.toContain(expired.key.keyId);
  });

  it('a key that Redis knows as revoked stays refused, and is named', async () => {
    const { key, orgId, admit } = await usedKey();
    await store.redis.hset(store.names.key(orgId, key.keyId), 'state', 'revoked');
    await startBeside('Revoke them again');
    expect((await admit()).outcome).toBe('keyInvalid');
    expect(logged).toContain(key.keyId);
  });

  it('the limits are those of Postgres, and later changes take effect', async () => {
    const { orgId } = await usedKey();
    const inForce = () => store.redis.hget(store.names.org(orgId), 'at_once');
    await store.redis.hset(store.names.org(orgId), { version: 7, at_once: 3 });
    await startBeside('The limits from Postgres are in force');
    expect(await inForce()).toBe('100000');
    await changePlan(db, orgId, { requestsAtOnce: 2 });
    await callUnary(session.client, 'refreshOrgs', { orgIds: [orgId] }, PATIENT_CALL);
    expect(await inForce()).toBe('2');
  });
});
