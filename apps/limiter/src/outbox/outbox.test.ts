import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SETTLEMENT_QUEUE, type SettlementBatch, settlementQueuePrefix } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import { createRedisClient, type RedisClient } from '@tidegate/redis';
import { callUnary } from '@tidegate/rpc';
import { createMetrics } from '@tidegate/runtime';
import { eventually, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { Queue } from 'bullmq';
import { anAdmitInput } from '../testing/admit-input.ts';
import { connectDb, makeKey, makeOrg, openStore, type TestKey, type TestStore } from '../testing/fixture.ts';
import { beatingInstance, PATIENT_CALL, Rig } from '../testing/rig.ts';
import type { SessionClient } from '../testing/session-client.ts';

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let rig: Rig;
let store: TestStore;
let connection: RedisClient;
let queue: Queue<SettlementBatch>;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = connectDb(postgres.url);
  store = await openStore(redis.url);
  connection = createRedisClient(redis.url);
  queue = new Queue(SETTLEMENT_QUEUE, {
    prefix: settlementQueuePrefix('tg:'),
    connection,
  });
  rig = new Rig(redis.url, db);
});

afterAll(async () => {
  await rig.close();
  await queue.close();
  connection.disconnect();
  store.redis.disconnect();
  await closeDb(db);
  await Promise.all([redis.stop(), postgres.drop()]);
});

const queued = async (orgId: string) =>
  (await queue.getJobs(['waiting', 'failed', 'delayed'])).flatMap((job) =>
    job.data.settlements.filter((settlement) => settlement.orgId === orgId),
  );
/** A limiter that leaves the sweep to others. Whoever sweeps keeps the lock for two intervals. */
const limiterWithoutSweep = () => rig.limiter({ timing: { sweepEveryMs: 3_600_000 } });
const outboxLength = (orgId: string) => store.redis.xlen(store.names.outbox(orgId));

async function settled(session: SessionClient, key: TestKey, count: number): Promise<string[]> {
  const instanceId = await beatingInstance(session);
  const admissions = Array.from({ length: count }, () => anAdmitInput(key, instanceId));
  await Promise.all(admissions.map((admit) => session.decide({ admit })));
  const times = { durationMs: 12, firstChunkMs: 7 };
  const usage = { answered: true, usageValid: true, promptTokens: 30, completionTokens: 4, ...times };
  await Promise.all(admissions.map((admission) => session.ask({ settle: { ...admission, ...usage } })));
  return admissions.map(({ admissionId }) => admissionId).sort();
}

describe('settlements', () => {
  it('reach the queue soon, each once, and leave the outbox when they are confirmed', async () => {
    const session = rig.session(await limiterWithoutSweep());
    const key = await makeKey(db, await makeOrg(db));
    const { orgId } = key;
    const ids = await settled(session, key, 230);
    await eventually(async () => (await queued(orgId)).length === 230);
    const settlements = await queued(orgId);
    expect(settlements.map(({ reservationId }) => reservationId).sort()).toEqual(ids);
    expect(settlements[0]).toMatchObject({
      orgId,
      keyId: key.keyId,
      modelId: 'mdl_test',
      answered: true,
      errorCode: null,
      streamed: false,
      reservedTokens: 1_000,
      promptTokens: 30,
      completionTokens: 4,
      chargedTokens: 34,
      durationMs: 12,
      firstChunkMs: 7,
    });
    expect(Math.abs((settlements[0]?.admittedAtMs ?? 0) - Date.now())).toBeLessThan(60_000);

    expect(await outboxLength(orgId)).toBe(230);
    for (let again = 0; again < 2; again++)
      await callUnary(session.client, 'confirmSettlements', { settlements }, PATIENT_CALL);
    expect(await outboxLength(orgId)).toBe(0);
  });

  it('show where their request is: open, on its way to metering, and then no longer known', async () => {
    const session = rig.session(await limiterWithoutSweep());
    const key = await makeKey(db, await makeOrg(db));
    const { orgId } = key;
    const stateOf = async (admissionId: string, org = orgId) =>
      (await callUnary(session.client, 'findRequest', { orgId: org, admissionId }, PATIENT_CALL)).state;
    const admit = anAdmitInput(key, await beatingInstance(session));
    const { admissionId } = admit;
    expect(await stateOf(admissionId)).toBe('STATE_UNKNOWN');
    await session.decide({ admit });
    expect(await stateOf(admissionId)).toBe('STATE_OPEN');
    expect(await stateOf(admissionId, await makeOrg(db))).toBe('STATE_UNKNOWN');
    // More than one page of younger entries.
    const usage = { answered: true, usageValid: true, promptTokens: 3, completionTokens: 4, durationMs: 12 };
    await session.ask({ settle: { ...admit, ...usage } });
    for (let page = 0; page < 2; page++) {
      const pipeline = store.redis.pipeline();
      for (let i = 0; i < 600; i++) pipeline.xadd(store.names.outbox(orgId), '*', 's', 'other');
      await pipeline.exec();
    }
    expect(await stateOf(admissionId)).toBe('STATE_QUEUED');
    const settlements = await eventually(async () => {
      const found = await queued(orgId);
      return found.length > 0 && found;
    });
    await callUnary(session.client, 'confirmSettlements', { settlements }, PATIENT_CALL);
    expect(await stateOf(admissionId)).toBe('STATE_UNKNOWN');
  });

  it('that the queue has lost are published again by the sweep, once, however often it runs', async () => {
    const session = rig.session(await limiterWithoutSweep());
    const key = await makeKey(db, await makeOrg(db));
    const ids = await settled(session, key, 130);
    await eventually(async () => (await queued(key.orgId)).length === 130);
    await queue.obliterate({ force: true });

    const timing = { sweepEveryMs: 30, sweepMinAgeMs: 0 };
    await Promise.all([rig.limiter({ timing }), rig.limiter({ timing })]);
    await eventually(async () => (await queued(key.orgId)).length === 130);
    const settlements = await queued(key.orgId);
    expect(settlements.map(({ reservationId }) => reservationId).sort()).toEqual(ids);
    const [lockBefore] = await store.redis.time();
    await eventually(async () => Number((await store.redis.time())[0]) > Number(lockBefore));
    expect(await queued(key.orgId)).toHaveLength(130);
    await callUnary(session.client, 'confirmSettlements', { settlements }, PATIENT_CALL);
    expect(await outboxLength(key.orgId)).toBe(0);
  });

  it('wait in the outbox while metering is far behind, and reach the queue once it has caught up', async () => {
    const metrics = createMetrics('limiter');
    const timing = { sweepEveryMs: 30, sweepMinAgeMs: 0 };
    const session = rig.session(await rig.limiter({ metrics, timing }));
    const key = await makeKey(db, await makeOrg(db));
    const jobs = Array.from({ length: 1_001 }, () => ({ name: 'batch', data: { settlements: [] } }));
    await queue.addBulk(jobs);
    const ids = await settled(session, key, 3);
    await eventually(async () =>
      /^tidegate_limiter_unpublished_total\{.*\} 3$/m.test(await metrics.metrics()),
    );
    expect(await queued(key.orgId)).toEqual([]);
    await queue.drain();
    await eventually(async () => (await queued(key.orgId)).length === 3);
    expect((await queued(key.orgId)).map(({ reservationId }) => reservationId).sort()).toEqual(ids);
  });
});
