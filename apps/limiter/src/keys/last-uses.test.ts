import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newKeyId } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import { eventually, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { connectDb, makeKey, makeOrg } from '../testing/fixture.ts';
import { Rig } from '../testing/rig.ts';
import { LastUses } from './last-uses.ts';

const NEVER_MS = 2_000_000_000;

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let rig: Rig;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = connectDb(postgres.url);
});
afterAll(async () => {
  await closeDb(db);
  await Promise.all([redis.stop(), postgres.drop()]);
});
beforeEach(() => {
  rig = new Rig(redis.url, db);
});
afterEach(() => rig.close());

const lastUseOf = async (keyId: string): Promise<number | null> =>
  (await db.apiKey.findUniqueOrThrow({ where: { id: keyId } })).lastUsedAt?.getTime() ?? null;

describe('a counted request without a settlement', () => {
  it('is a use of its key, and a refused one is not [key.list.last-used]', async () => {
    const session = rig.session(await rig.limiter({ timing: { reapEveryMs: 50 } }));
    const { orgId, keyId } = await makeKey(db, await makeOrg(db), { requestsPerMinute: 1 });
    const before = Date.now();
    expect((await session.decide({ countRequest: { orgId, keyId } })).admitted).toBeTruthy();
    await eventually(async () => (await lastUseOf(keyId)) !== null);
    const used = await lastUseOf(keyId);
    expect(used).toBeGreaterThanOrEqual(before - 1);
    expect(used).toBeLessThanOrEqual(Date.now());

    const other = await makeKey(db, orgId);
    expect((await session.decide({ countRequest: { orgId, keyId } })).rateLimited).toBeTruthy();
    expect((await session.decide({ countRequest: { orgId, keyId: other.keyId } })).admitted).toBeTruthy();
    await eventually(async () => (await lastUseOf(other.keyId)) !== null);
    expect(await lastUseOf(keyId)).toBe(used);
  });

  it('is written when the limiter stops, if not before', async () => {
    const limiter = await rig.limiter({ timing: { reapEveryMs: NEVER_MS } });
    const { orgId, keyId } = await makeKey(db, await makeOrg(db));
    await rig.session(limiter).decide({ countRequest: { orgId, keyId } });
    expect(await lastUseOf(keyId)).toBeNull();
    await limiter.close();
    expect(await lastUseOf(keyId)).not.toBeNull();
  });
});

describe('the last use of keys', () => {
  it('only moves forward, and leaves out deleted keys', async () => {
    const { keyId } = await makeKey(db, await makeOrg(db));
    const uses = new LastUses(db);
    for (const atMs of [2_000, 1_000, 3_000]) {
      uses.note(keyId, atMs);
      uses.note(newKeyId(), atMs);
      await uses.write();
      expect(await lastUseOf(keyId)).toBe(Math.max(2_000, atMs));
    }
  });

  it('is kept for the next write while Postgres fails, unless there is a later one', async () => {
    const keys = await Promise.all([makeKey(db, await makeOrg(db)), makeKey(db, await makeOrg(db))]);
    const uses = new LastUses(db);
    for (const { keyId } of keys) uses.note(keyId, 1_000);
    await db.$executeRaw`ALTER TABLE api_key RENAME TO away`;
    const failed = uses.write();
    uses.note(keys[1].keyId, 2_000);
    await expect(failed).rejects.toThrow('the last use of keys could not be written');
    await db.$executeRaw`ALTER TABLE away RENAME TO api_key`;
    await uses.write();
    expect(await Promise.all(keys.map(({ keyId }) => lastUseOf(keyId)))).toEqual([1_000, 2_000]);
  });
});
