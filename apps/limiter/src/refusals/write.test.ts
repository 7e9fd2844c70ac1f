import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newInstanceId, newKeyId } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import type { RefusalCount__Output } from '@tidegate/rpc';
import { type TestPostgres, testPostgres } from '@tidegate/testing';
import { connectDb, makeKey, makeOrg, type TestKey } from '../testing/fixture.ts';
import { writeRefusals } from './write.ts';

const HOUR_MS = 3_600_000;
const HOUR = Date.UTC(2026, 10, 21, 12);

let postgres: TestPostgres;
let db: Db;
let key: TestKey;
let gatewayId: string;

beforeAll(async () => {
  postgres = await testPostgres();
  db = connectDb(postgres.url);
});
afterAll(async () => {
  await closeDb(db);
  await postgres.drop();
});
beforeEach(async () => {
  key = await makeKey(db, await makeOrg(db));
  gatewayId = newInstanceId();
});

const refused = (refusals: number, more: Partial<RefusalCount__Output> = {}): RefusalCount__Output => ({
  orgId: key.orgId,
  keyId: key.keyId,
  modelId: 'mdl_a',
  hourMs: HOUR,
  refusals,
  code: 'rate_limit_exceeded',
  cause: 'key_requests_per_minute',
  ...more,
});
const report = (sequence: number, ...counts: RefusalCount__Output[]) =>
  writeRefusals(db, { gatewayId, sequence, counts });
const rowsOf = (orgId = key.orgId) => db.refusalHour.findMany({ where: { orgId }, orderBy: { hour: 'asc' } });
const total = async () => (await rowsOf()).reduce((sum, { refusals }) => sum + Number(refusals), 0);

describe('a report of refusals', () => {
  it('counts once, however often and through however many limiters it comes', async () => {
    await Promise.all(Array.from({ length: 4 }, () => report(1, refused(3))));
    await report(2, refused(2));
    // The report was committed, and the limiter died before it answered.
    await report(2, refused(2));
    await report(1, refused(3));
    expect(await total()).toBe(5);
  });

  it('adds to what other gateways reported, by hour, model, code and cause', async () => {
    await report(1, refused(1), refused(1), refused(4, { cause: '', code: 'model_not_found', modelId: '' }));
    await writeRefusals(db, {
      gatewayId: newInstanceId(),
      sequence: 1,
      counts: [refused(5), refused(7, { hourMs: HOUR + HOUR_MS })],
    });
    const rows = (await rowsOf()).map(({ hour, code, cause, modelId, refusals }) =>
      [hour.toISOString().slice(11, 13), code, cause, modelId, refusals].join(' '),
    );
    expect(rows.sort()).toEqual([
      '12 model_not_found   4',
      '12 rate_limit_exceeded key_requests_per_minute mdl_a 7',
      '13 rate_limit_exceeded key_requests_per_minute mdl_a 7',
    ]);
  });

  it('also counts for its days, with the first and last hour that had refusals', async () => {
    const day = Date.UTC(2026, 10, 21);
    const at = (hour: number, refusals: number) => refused(refusals, { hourMs: day + hour * HOUR_MS });
    await report(1, at(13, 1), at(12, 2), at(24, 4));
    await report(2, at(11, 8), at(13, 16));
    await report(2, at(13, 16));
    const days = await db.refusalDay.findMany({ where: { orgId: key.orgId }, orderBy: { day: 'asc' } });
    const hourOf = (time: Date) => (time.getTime() - day) / HOUR_MS;
    expect(
      days.map((one) => [hourOf(one.day), Number(one.refusals), hourOf(one.firstHour), hourOf(one.lastHour)]),
    ).toEqual([
      [0, 27, 11, 13],
      [24, 4, 24, 24],
    ]);
  });

  it('never deadlocks with a concurrent report', async () => {
    const second = await makeKey(db, key.orgId);
    const at = (hour: number, { keyId }: TestKey) =>
      Array.from({ length: 200 }, (_, model) =>
        refused(1, { keyId, modelId: `mdl_${model}`, hourMs: HOUR + hour * HOUR_MS }),
      );
    // They share no hour of any key, but they do share the day of each key.
    const reports = [
      [...at(0, second), ...at(1, key)],
      [...at(2, key), ...at(3, second)],
    ];
    const write = (counts: RefusalCount__Output[]) =>
      writeRefusals(db, { gatewayId: newInstanceId(), sequence: 1, counts });
    await Promise.all(Array.from({ length: 5 }, () => reports.map(write)).flat());
    expect(await total()).toBe(5 * 800);
  });

  it('that fails is not noted, so that it counts when it is sent again', async () => {
    await expect(report(1, refused(0))).rejects.toThrow('refusal_hour_refusals_check');
    await report(1, refused(2));
    expect(await total()).toBe(2);
  });

  it('cannot count for a key of another organization, nor for one that is deleted', async () => {
    const other = await makeOrg(db);
    await report(1, refused(1, { orgId: other }), refused(1, { keyId: newKeyId() }), refused(1));
    expect(await rowsOf(other)).toEqual([]);
    expect(await total()).toBe(1);
  });

  it('from a gateway whose clock is ahead counts for this hour', async () => {
    await report(1, refused(1, { hourMs: Date.now() + 1_000 * HOUR_MS }));
    const [row] = await rowsOf();
    expect(row?.hour.getTime()).toBeLessThanOrEqual(Date.now() + HOUR_MS);
  });
});

describe('refusals', () => {
  it('are deleted with their key and with their organization, and never come back', async () => {
    const second = await makeKey(db, key.orgId);
    await report(1, refused(1), refused(1, { keyId: second.keyId }));
    await db.apiKey.delete({ where: { id: second.keyId } });
    expect(await total()).toBe(1);
    await db.$queryRaw`SELECT delete_organization(${key.orgId}, 'operator')`;
    await report(2, refused(1));
    expect(await rowsOf()).toEqual([]);
    expect(await db.refusalDay.count({ where: { orgId: key.orgId } })).toBe(0);
  });

  it('count neither as usage, nor toward a limit, nor as a use of their key', async () => {
    await report(1, refused(1_000));
    expect(await db.usageDay.count({ where: { orgId: key.orgId } })).toBe(0);
    expect(await db.monthTotal.count({ where: { orgId: key.orgId } })).toBe(0);
    expect((await db.apiKey.findUniqueOrThrow({ where: { id: key.keyId } })).lastUsedAt).toBeNull();
  });
});
