import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newRequestId, orgTagOf } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import { callUnary } from '@tidegate/rpc';
import { createLogger } from '@tidegate/runtime';
import { eventually, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import type { Limiter } from '../limiter.ts';
import { LimiterError } from '../limiter-error.ts';
import type { NoticeHub } from '../notices/hub.ts';
import type { RedisLink } from '../redis/link.ts';
import type { Store } from '../redis/store.ts';
import { readKey } from '../seeding/rows.ts';
import { seedKey } from '../seeding/seed.ts';
import { anAdmitInput } from '../testing/admit-input.ts';
import {
  connectDb,
  makeKey,
  makeModel,
  makeOrg,
  openStore,
  type TestKey,
  type TestStore,
} from '../testing/fixture.ts';
import { beatingInstance, Rig } from '../testing/rig.ts';
import type { SessionClient } from '../testing/session-client.ts';
import type { LimiterTiming } from '../timing.ts';
import { DeletedOrgs, startForgetting } from './deleted-orgs.ts';

/** Keeps the chore from running until a test decides that it may. */
const NEVER_MS = 2_000_000_000;
const deadlineMs = 60_000;

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let test: TestStore;
let rig: Rig;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = connectDb(postgres.url);
  test = await openStore(redis.url);
});
afterAll(async () => {
  test.redis.disconnect();
  await closeDb(db);
  await Promise.all([redis.stop(), postgres.drop()]);
});
beforeEach(() => {
  rig = new Rig(redis.url, db);
});
afterEach(() => rig.close());

const limiter = (timing: Partial<LimiterTiming> = {}): Promise<Limiter> =>
  rig.limiter({ timing: { recoverEveryMs: NEVER_MS, ...timing } });

interface Busy {
  readonly orgId: string;
  readonly key: TestKey;
  readonly instanceId: string;
  /** The id of a reservation that is open. */
  readonly openId: string;
}

/** An organization with keys, a request that was counted, and others that are open. */
async function busyOrg(session: SessionClient): Promise<Busy> {
  const orgId = await makeOrg(db);
  const modelId = await makeModel(db, orgId);
  const [key, narrow, revoked] = await Promise.all([
    makeKey(db, orgId),
    makeKey(db, orgId, { modelIds: [modelId] }),
    makeKey(db, orgId),
  ]);
  const instanceId = await beatingInstance(session);
  const { keyId, hash } = revoked;
  await callUnary(session.client, 'revokeKey', { orgId, keyId, keyHash: hash }, { deadlineMs });
  for (const { orgTag, hash: keyHash } of [key, narrow])
    expect((await session.ask({ authenticate: { orgTag, keyHash } })).authenticate?.principal).toBeTruthy();
  const calls = [key, key, narrow].map((of) => anAdmitInput(of, instanceId));
  for (const admit of calls) expect((await session.decide({ admit })).admitted).toBeTruthy();
  const [settled, open] = calls.map(({ admissionId }) => ({ orgId, instanceId, admissionId }));
  const admissionId = newRequestId();
  await session.ask({ takeLargeBody: { orgId, instanceId, admissionId } });
  await session.ask({ withdraw: { orgId, instanceId, admissionId: newRequestId() } });
  await session.ask({
    settle: { ...settled, answered: true, usageValid: true, promptTokens: 1, completionTokens: 1 },
  });
  return { orgId, key, instanceId, openId: open?.admissionId ?? '' };
}

/** Deletes the organization as `packages/control` does. */
const deleteInPostgres = (orgId: string) => db.$queryRaw`SELECT delete_organization(${orgId}, 'operator')`;
const forget = (session: SessionClient, orgId: string) =>
  callUnary(session.client, 'forgetOrg', { orgId }, { deadlineMs });

const READ: Readonly<Record<string, readonly string[]>> = {
  string: ['get'],
  hash: ['hgetall'],
  set: ['smembers'],
  list: ['lrange', '0', '-1'],
  zset: ['zrange', '0', '-1'],
  stream: ['xrange', '-', '+'],
};

/** The keys that belong to an organization or name it. The queue is metering's. */
async function keysOf(orgId: string): Promise<string[]> {
  const names = ((await test.everywhere('keys', '*')) as string[][]).flat();
  const own = names.filter((name) => !name.startsWith('{tg:queue}'));
  const found = await Promise.all(
    own.map(async (name) => {
      const type = (await test.store.command('type', name)) as string;
      const [command = 'get', ...args] = READ[type] ?? [];
      const value = JSON.stringify(await test.store.command(command, name, ...args));
      return `${name} ${value}`.includes(orgTagOf(orgId)) ? [name] : [];
    }),
  );
  return found.flat();
}

describe('a deleted organization', () => {
  it('leaves no key in Redis, whatever it had there, and gateways are told to end its requests', async () => {
    const session = rig.session(await limiter());
    const busy = await busyOrg(session);
    const other = await busyOrg(session);
    const others = await keysOf(other.orgId);
    const kinds = (await keysOf(busy.orgId)).map((name) => name.replace(/^tg:\{\w+\}:(\w+).*$/, '$1'));
    expect(new Set(kinds)).toEqual(
      new Set(['org', 'hash', 'key', 'window', 'month', 'open', 'voids', 'outbox', 'orgs', 'tg:orgs']),
    );
    await deleteInPostgres(busy.orgId);
    await forget(session, busy.orgId);
    expect(await keysOf(busy.orgId)).toEqual([]);
    expect((await keysOf(other.orgId)).sort()).toEqual(others.sort());
    await eventually(() => session.notices.some(({ orgDeleted }) => orgDeleted?.orgId === busy.orgId));
  });

  it('has no valid key from then on, not even for a gateway that still knows it', async () => {
    const session = rig.session(await limiter());
    const { orgId, key, instanceId } = await busyOrg(session);
    await deleteInPostgres(orgId);
    await forget(session, orgId);
    const { orgTag, hash: keyHash, keyId } = key;
    expect((await session.ask({ authenticate: { orgTag, keyHash } })).authenticate?.keyInvalid).toBeTruthy();
    expect((await session.decide({ admit: anAdmitInput(key, instanceId) })).keyInvalid).toBeTruthy();
    expect((await session.decide({ countRequest: { orgId, keyId } })).keyInvalid).toBeTruthy();
    expect(await keysOf(orgId)).toEqual([]);
  });

  it('is not brought back by requests that end, are restored or ask for something afterwards', async () => {
    const session = rig.session(await limiter());
    const { orgId, key, instanceId, openId } = await busyOrg(session);
    await deleteInPostgres(orgId);
    await forget(session, orgId);
    const ref = { orgId, instanceId, admissionId: openId };
    const settle = { ...ref, answered: true, usageValid: true, promptTokens: 1, completionTokens: 1 };
    const lost = { ...anAdmitInput(key, instanceId), admittedAtMs: 1, reservedAtMs: 1 };
    expect((await session.ask({ settle })).settle).toBeTruthy();
    expect((await session.ask({ restore: lost })).restore).toEqual({ leaseLost: false });
    expect((await session.ask({ restore: { ...lost, settle } })).restore).toEqual({ leaseLost: false });
    expect((await session.decide({ reserve: ref })).leaseLost).toBeTruthy();
    const largeBody = await session.ask({ takeLargeBody: { ...ref, restore: false } });
    expect(largeBody.takeLargeBody?.result).toBe('RESULT_LEASE_LOST');
    expect(await keysOf(orgId)).toEqual([]);
  });

  it('is forgotten by the chore if no one has asked for that, and so is what arrives late', async () => {
    const quiet = rig.session(await limiter());
    const { orgId, key } = await busyOrg(quiet);
    const late = await readKey(db, { id: key.keyId });
    if (!late) throw new Error('there is no key');
    await deleteInPostgres(orgId);
    await limiter({ recoverEveryMs: 100 });
    await eventually(async () => (await keysOf(orgId)).length === 0);
    // A limiter had read Postgres before the deletion.
    await seedKey(test.scriptDepsAt(0), late);
    const { orgTag, hash: keyHash } = key;
    expect((await quiet.ask({ authenticate: { orgTag, keyHash } })).authenticate?.keyInvalid).toBeTruthy();
    await eventually(async () => (await keysOf(orgId)).length === 0);
    const isDone = async () => (await db.deletedOrg.findUniqueOrThrow({ where: { orgId } })).forgottenAt;
    expect(await isDone()).toBeNull();
    await db.$executeRaw`UPDATE deleted_org SET deleted_at = now() - interval '2 minutes' WHERE org_id = ${orgId}`;
    await eventually(async () => (await isDone()) !== null);
    expect(await keysOf(orgId)).toEqual([]);
  });

  it('is forgotten even while the Redis server of another one is unavailable', async () => {
    const session = rig.session(await limiter());
    const [stuck, other] = [await busyOrg(session), await busyOrg(session)];
    for (const { orgId } of [stuck, other]) await deleteInPostgres(orgId);
    const { store, names } = test;
    const command: Store['command'] = (name, key, ...args) =>
      key === names.org(stuck.orgId)
        ? Promise.reject(new LimiterError('redis', 'its server is unavailable'))
        : store.command(name, key, ...args);
    const partly = { command, commandAt: store.commandAt.bind(store) } as Store;
    const notices = { publish: () => Promise.resolve() } as unknown as NoticeHub;
    const deletedOrgs = new DeletedOrgs({ ...test.scriptDepsAt(0), store: partly, db, notices });
    await expect(deletedOrgs.run()).rejects.toThrow('its server is unavailable');
    expect(await keysOf(other.orgId)).toEqual([]);
    await forget(session, stuck.orgId);
  });

  it('is not forgotten while Postgres has it', async () => {
    const session = rig.session(await limiter());
    const { orgId } = await busyOrg(session);
    const before = await keysOf(orgId);
    await expect(forget(session, orgId)).rejects.toThrow('was not deleted');
    expect((await keysOf(orgId)).sort()).toEqual(before.sort());
  });
});

it('while Postgres is unavailable, the log does not say that an organization was deleted', async () => {
  const said: string[] = [];
  const destination = { write: (line: string) => said.push(JSON.parse(line).msg) };
  const logger = createLogger({ service: 'limiter', level: 'info', destination });
  const nowhere = connectDb('postgresql://nobody@127.0.0.1:1/none');
  const notices = {} as NoticeHub;
  const deletedOrgs = new DeletedOrgs({ ...test.scriptDepsAt(0), db: nowhere, notices });
  const link = { ready: () => true } as RedisLink;
  const chore = startForgetting({ deletedOrgs, link, everyMs: 10, logger });
  try {
    await eventually(() => said.length > 0);
    expect(said).toEqual(['the removal of deleted organizations from Redis failed: trying again']);
  } finally {
    await chore.stop();
    await closeDb(nowhere);
  }
});
