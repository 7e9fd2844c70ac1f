import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newRequestId } from '@tidegate/contracts';
import { closeDb, type Db, ensureRequestPartitions } from '@tidegate/db';
import { type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { type LostAdmission, restore, restoreSettled } from '../admission/restore.ts';
import { settle } from '../admission/settle.ts';
import type { ScriptDeps } from '../script-deps.ts';
import {
  connectDb,
  makeOrg,
  openStore,
  PATIENT_READS,
  ROOMY_PLAN,
  type TestStore,
} from '../testing/fixture.ts';
import { putInstance, putKey, putOrg } from '../testing/org.ts';
import { readUnseeded } from './seed.ts';
import { Seeder } from './seeder.ts';

const MONTH = '2026-06';
const DAYS = ['2026-06-09', '2026-06-10', '2026-06-11'] as const;
const NOW_MS = Date.UTC(2026, 5, 11, 0, 1);
const CHARGED = 7;
const END = {
  answered: true,
  usage: { promptTokens: 3, completionTokens: 4 },
  durationMs: 12,
  errorCode: null,
  firstChunkMs: null,
};

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let test: TestStore;
let scriptDeps: ScriptDeps;
let orgId: string;
let keyId: string;
let instanceId: string;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = connectDb(postgres.url);
  test = await openStore(redis.url);
  await ensureRequestPartitions(db, DAYS);
});

beforeEach(async () => {
  scriptDeps = test.scriptDepsAt(NOW_MS - Date.now());
  orgId = await makeOrg(db);
  await putOrg(scriptDeps, { orgId, version: 1, ...ROOMY_PLAN }, false);
  [keyId, instanceId] = [await putKey(scriptDeps, orgId), await putInstance(scriptDeps, orgId)];
});

afterAll(async () => {
  test.redis.disconnect();
  await closeDb(db);
  await Promise.all([redis.stop(), postgres.drop()]);
});

function reservedOn(day: string): LostAdmission {
  const atMs = Date.parse(`${day}T23:59:00Z`);
  const what = { modelId: 'mdl_test', contextTokens: 1_000, streamed: false };
  return {
    orgId,
    keyId,
    instanceId,
    admissionId: newRequestId(),
    ...what,
    admittedAtMs: atMs,
    reservedAtMs: atMs,
  };
}

/** Restores an admission as open, and settles it. */
async function settled(lost: LostAdmission): Promise<void> {
  expect(await restore(scriptDeps, lost)).toBe('restored');
  expect((await settle(scriptDeps, lost, { keyId, month: MONTH }, END)).kind).toBe('settled');
}

async function writtenOn(day: string, { admissionId }: LostAdmission): Promise<void> {
  await db.$executeRaw`
    INSERT INTO request (reservation_id, day, org_id, key_id, model_id, admitted_at, answered, streamed, reserved_tokens, charged_tokens)
    VALUES (${admissionId}, ${day}::date, ${orgId}, ${keyId}, 'm', now(), true, false, 1000, ${CHARGED})`;
}

async function seededMonth() {
  const later = test.scriptDepsAt(scriptDeps.clock.offsetUs / 1_000 + 61_000);
  await new Seeder(later, db, PATIENT_READS).seedMonth(orgId, MONTH);
  return test.redis.hgetall(test.names.month(orgId, MONTH));
}

const inTotals = (requests: number) =>
  db.monthTotal.create({
    data: { orgId, month: MONTH, requests, chargedTokens: requests * CHARGED },
  });

describe('what was settled before its month is seeded', () => {
  it('is counted once on each of several days, whether Postgres has it already or not', async () => {
    for (const day of DAYS) {
      const [written, unwritten, sentAgain] = [reservedOn(day), reservedOn(day), reservedOn(day)];
      for (const lost of [written, unwritten]) await settled(lost);
      expect((await restoreSettled(scriptDeps, sentAgain, END)).kind).toBe('settled');
      for (const lost of [written, sentAgain]) await writtenOn(day, lost);
    }
    await inTotals(6);
    const charged = String(9 * CHARGED);
    expect(await seededMonth()).toEqual({ requests: '9', charged, reserved: '0' });
  });

  it('is searched for only on its own days, so that a long month does not make the search slow', async () => {
    const [first, , third] = DAYS;
    await settled(reservedOn(first));
    await restoreSettled(scriptDeps, reservedOn(third), END);
    expect([...(await readUnseeded(scriptDeps, orgId, MONTH)).days].sort()).toEqual([first, third]);
  });

  it('is found on any day if a limiter of the previous release settled some of it', async () => {
    const [first, second] = DAYS;
    await settled(reservedOn(first));
    const old = reservedOn(second);
    // What such a limiter leaves: the charge, and no day.
    await test.redis.hset(test.names.month(orgId, MONTH), `settled:${old.admissionId}`, CHARGED);
    await writtenOn(second, old);
    await inTotals(1);
    const { days } = await readUnseeded(scriptDeps, orgId, MONTH);
    expect([days.length, days[0], days.at(-1)]).toEqual([30, '2026-06-01', '2026-06-30']);
    expect(await seededMonth()).toEqual({ requests: '2', charged: String(2 * CHARGED), reserved: '0' });
  });
});
