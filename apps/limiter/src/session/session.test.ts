import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newInstanceId } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import { callUnary } from '@tidegate/rpc';
import { eventually, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import type { Limiter } from '../limiter.ts';
import { anAdmission, connectDb, makeKey, makeOrg, startTestLimiter } from '../testing/fixture.ts';
import { SessionClient } from '../testing/session-client.ts';

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let limiter: Limiter;
let session: SessionClient;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = connectDb(postgres.url);
  limiter = await startTestLimiter({ redisUrl: redis.url, db });
  await eventually(() => limiter.ready());
  session = new SessionClient(`127.0.0.1:${limiter.port}`);
});

afterAll(async () => {
  session.close();
  await limiter.close();
  await closeDb(db);
  await Promise.all([redis.stop(), postgres.drop()]);
});

describe('a session', () => {
  it('authenticates, admits, reserves and settles, and the month shows it', async () => {
    const orgId = await makeOrg(db, { tokensPerMonth: 10_000 });
    const key = await makeKey(db, orgId, { requestsPerMinute: 5 });
    const instanceId = newInstanceId();
    const beat = await session.ask({ heartbeat: { instanceId } });
    expect(beat.heartbeat).toEqual({ leaseLost: false });

    const known = await session.ask({ authenticate: { orgTag: key.orgTag, keyHash: key.hash } });
    expect(known.authenticate?.principal).toEqual({
      orgId,
      keyId: key.keyId,
      allModels: true,
      modelIds: [],
      expiresAtMs: 0,
      imagesAllowed: true,
    });

    const admission = anAdmission(key, instanceId, { reserve: false });
    const admitted = await session.decide({ admit: admission });
    expect(admitted.admitted?.window).toMatchObject({ limit: 5, remaining: 4 });
    const reserved = await session.decide({ reserve: admission });
    expect(reserved.admitted).toBeTruthy();
    const month = () => callUnary(session.client, 'getMonth', { orgId }, { deadlineMs: 2_000 });
    expect(await month()).toMatchObject({
      requests: 1,
      chargedTokens: 0,
      reservedTokens: 1_000,
      inFlight: 1,
    });

    const settle = { ...admission, answered: true, usageValid: true, promptTokens: 7, completionTokens: 3 };
    expect((await session.ask({ settle })).settle).toEqual({});
    expect((await session.ask({ settle })).settle).toEqual({});
    expect(await month()).toMatchObject({ requests: 1, chargedTokens: 10, reservedTokens: 0, inFlight: 0 });
  });
});
