import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeDb, type Db } from '@tidegate/db';
import { monthEndMs, monthOf } from '@tidegate/limits';
import { type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { sendHeartbeat } from '../leases/lease.ts';
import { LimiterClock } from '../redis/clock.ts';
import { Seeder } from '../seeding/seeder.ts';
import { anAdmitInput } from '../testing/admit-input.ts';
import { connectDb, makeKey, makeOrg, openStore, PATIENT_READS, type TestStore } from '../testing/fixture.ts';
import { Admissions } from './admissions.ts';
import { readMonthLedger } from './month.ts';

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let store: TestStore;

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

describe('the month of a reservation', () => {
  it("is that of Redis' clock, however wrong this process's own clock is", async () => {
    const orgId = await makeOrg(db);
    const key = await makeKey(db, orgId);
    const endMs = monthEndMs(monthOf(Date.now()));
    for (const [wrongByMs, instanceId] of [
      [-3_600_000, 'gw_slow'],
      [40 * 86_400_000, 'gw_fast'],
    ] as const) {
      // Limiter time is just past the end of a month, but this process believes otherwise.
      const clock = new LimiterClock(endMs - Date.now() + 1_000, () => Date.now() + wrongByMs);
      const scriptDeps = { store: store.store, names: store.names, clock };
      const seeder = new Seeder(scriptDeps, db, PATIENT_READS);
      await sendHeartbeat(scriptDeps, instanceId, false);
      const admissions = new Admissions({
        ...scriptDeps,
        seeder,
        onSettled: () => {},
        onCounted: () => {},
      });
      expect(await admissions.admit(anAdmitInput(key, instanceId))).toMatchObject({ kind: 'admitted' });
      const held = anAdmitInput(key, instanceId, { reserve: false });
      await admissions.admit(held);
      expect(await admissions.reserve(held)).toMatchObject({ kind: 'admitted' });
      const ledger = await readMonthLedger(scriptDeps, seeder, orgId);
      expect(ledger.month).toBe(monthOf(endMs));
    }
    expect((await store.everywhere('keys', store.names.month(orgId, '*'))).flat()).toEqual([
      store.names.month(orgId, monthOf(endMs)),
    ]);
    expect(await store.redis.hget(store.names.month(orgId, monthOf(endMs)), 'requests')).toBe('4');
  });
});
