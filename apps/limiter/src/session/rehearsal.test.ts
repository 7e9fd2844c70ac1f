import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { REHEARSAL } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import { createMetrics } from '@tidegate/runtime';
import { type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { connectDb, openStore, type TestStore } from '../testing/fixture.ts';
import { beatingInstance, Rig } from '../testing/rig.ts';

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let store: TestStore;
let rig: Rig;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = connectDb(postgres.url);
  store = await openStore(redis.url);
  rig = new Rig(redis.url, db);
});
afterAll(async () => {
  await rig.close();
  store.redis.disconnect();
  await closeDb(db);
  await Promise.all([redis.stop(), postgres.drop()]);
});

it('a rehearsed reservation is answered like one that is made, reserves nothing, and counts as no decision', async () => {
  const metrics = createMetrics('limiter');
  const session = rig.session(await rig.limiter({ metrics }));
  const instanceId = await beatingInstance(session);
  const countsReserve = async () =>
    /^tidegate_limiter_decision\w+{.*call="reserve"/m.test(await metrics.metrics());
  const rehearsed = { orgId: REHEARSAL, instanceId, admissionId: REHEARSAL };
  const reserved = { admitted: { decidedAtMs: expect.any(Number), window: null } };
  expect(await Promise.all([1, 2, 3].map(() => session.decide({ reserve: rehearsed })))).toMatchObject(
    Array(3).fill(reserved),
  );
  expect(await countsReserve()).toBe(false);
  expect((await store.everywhere('keys', `*${REHEARSAL}*`)).flat()).toEqual([]);
  const unknown = { ...rehearsed, orgId: 'org_unknown' };
  expect(await session.decide({ reserve: unknown })).toMatchObject({ leaseLost: {} });
  expect(await countsReserve()).toBe(true);
});
