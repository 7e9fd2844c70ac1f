import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  newKeyId,
  newModelId,
  newOrgId,
  newRequestId,
  SETTLEMENT_QUEUE,
  SETTLEMENT_RETRIES_MS,
  type SettlementBatch,
  settlementQueuePrefix,
} from '@tidegate/contracts';
import { createRedisClient, type RedisClient } from '@tidegate/redis';
import { eventually, type TestRedis, testRedis } from '@tidegate/testing';
import { Queue, UnrecoverableError, Worker } from 'bullmq';
import { Lock } from '../redis/lock.ts';
import { openStore, PATIENT_MS, type TestStore } from '../testing/fixture.ts';
import { CatchUp } from './catch-up.ts';
import { formatOutboxEntry } from './entry.ts';
import { createSettlementQueue, type SettlementQueue } from './queue.ts';
import { OutboxSweep, type SweepOptions } from './sweep.ts';

const MINUTE_MS = 60_000;
const AWAY_MS = 4 * SETTLEMENT_RETRIES_MS;
const options = { prefix: settlementQueuePrefix('tg:') };

let redis: TestRedis;
let store: TestStore;
let connection: RedisClient;
let jobs: Queue<SettlementBatch>;
let queue: SettlementQueue;

beforeAll(async () => {
  redis = await testRedis();
  store = await openStore(redis.url);
  connection = createRedisClient(redis.url, { maxRetriesPerRequest: null });
  jobs = new Queue(SETTLEMENT_QUEUE, { ...options, connection });
  queue = createSettlementQueue({
    ...{ redisUrl: redis.url, redisPrefix: 'tg:', answerTimeoutMs: PATIENT_MS },
    onError: () => {},
  });
  // The queue rejects until it is connected, in a cluster to every master.
  await eventually(() => queue.backlog());
});
beforeEach(async () => {
  await jobs.obliterate({ force: true });
  await store.redis.del(store.names.orgs);
});
afterAll(async () => {
  await Promise.all([queue.close(), jobs.close()]);
  connection.disconnect();
  store.redis.disconnect();
  await redis.stop();
});

/** Adds an outbox entry written at `atMs` that is in no job. */
async function entryAt(orgId: string, atMs: number): Promise<string> {
  const reservationId = newRequestId();
  const tokens = { reservedTokens: 9, promptTokens: 1, completionTokens: 2, chargedTokens: 3 };
  const ids = { reservationId, keyId: newKeyId(), modelId: newModelId() };
  const how = { answered: true, errorCode: null, streamed: false, durationMs: 5, firstChunkMs: null };
  const entry = formatOutboxEntry({ ...ids, ...tokens, ...how, reservedAtMs: atMs });
  await store.redis.xadd(store.names.outbox(orgId), `${atMs}-0`, 's', entry);
  await store.redis.sadd(store.names.orgs, orgId);
  return reservationId;
}

/** Adds entries that this release cannot read, as after a rollback from a newer one. */
async function unreadableAt(orgId: string, atMs: number, count: number): Promise<void> {
  const pipeline = store.redis.pipeline();
  for (let i = 0; i < count; i++) pipeline.xadd(store.names.outbox(orgId), `${atMs}-${i}`, 's', 'newer');
  await pipeline.exec();
  await store.redis.sadd(store.names.orgs, orgId);
}

/** Sweeps as of `agoMs` ago. */
const sweep = (agoMs: number, more: Partial<SweepOptions> = {}) => sweeper(agoMs, more).run();

const sweeper = (agoMs: number, more: Partial<SweepOptions> = {}) =>
  new OutboxSweep({
    ...store.scriptDepsAt(0),
    queue,
    lock: new Lock(store.store, store.names.sweepLock, 'here', MINUTE_MS),
    minAgeMs: agoMs,
    maxJobs: 10,
    maxBacklog: 10,
    onRepublished: () => {},
    ...more,
  });

const waiting = async () =>
  (await jobs.getJobs(['waiting'])).flatMap(({ data }) => data.settlements.map((s) => s.reservationId));

async function killOne(): Promise<void> {
  const worker = new Worker(SETTLEMENT_QUEUE, null, { ...options, connection, autorun: false });
  const job = await worker.getNextJob('here');
  await job?.moveToFailed(new UnrecoverableError('Postgres was unavailable for too long'), 'here');
  await worker.close();
}

it('a dead job holds up neither its own settlements nor later ones', async () => {
  const orgId = newOrgId();
  const firstMs = Date.now() - AWAY_MS;
  const first = await entryAt(orgId, firstMs);
  for (let run = 1; run <= 2; run++) await sweep(AWAY_MS - run * MINUTE_MS);
  expect(await waiting()).toEqual([first]);
  await killOne();
  expect(await waiting()).toEqual([]);
  expect(await jobs.getFailedCount()).toBe(1);

  const later = await entryAt(orgId, firstMs + 30 * MINUTE_MS);
  await sweep(0);
  expect(await waiting()).toEqual([first, later]);
});

it.each([
  ['one, in front', 1],
  ['a whole page of them, in front', 100],
])('entries that cannot be read (%s) hold up none behind them', async (_which, unreadable) => {
  const orgId = newOrgId();
  const firstMs = Date.now() - 10 * MINUTE_MS;
  await unreadableAt(orgId, firstMs, unreadable);
  const readable: string[] = [];
  for (let i = 1; i <= 100; i++) readable.push(await entryAt(orgId, firstMs + i));
  expect(await sweep(0)).toBeGreaterThan(0);
  expect((await waiting()).sort()).toEqual(readable.sort());
});

it('an entry that cannot be read counts toward the age of the oldest one', async () => {
  await unreadableAt(newOrgId(), Date.now() - 10 * MINUTE_MS, 1);
  let oldestS = 0;
  const onSwept = (seconds: number) => {
    oldestS = seconds;
  };
  expect(await sweep(0, { onSwept })).toBe(0);
  expect(oldestS).toBeGreaterThan(599);
});

/** Confirms everything that is queued, as metering does, but writes nothing. */
async function meterAll(orgId: string): Promise<number> {
  const settlements = (await jobs.getJobs(['waiting'])).flatMap(({ data }) => data.settlements);
  if (settlements.length > 0)
    await store.redis.xdel(store.names.outbox(orgId), ...settlements.map(({ outboxId }) => outboxId));
  await jobs.drain();
  return settlements.length;
}

it('what one run leaves is swept soon, once metering has done most of what came before, or else at the next interval', async () => {
  const orgId = newOrgId();
  const firstMs = Date.now() - 10 * MINUTE_MS;
  for (let i = 0; i < 250; i++) await entryAt(orgId, firstMs + i);
  let nowMs = 0;
  const catchUp = new CatchUp({
    sweep: () => sweep(0, { maxJobs: 1 }),
    backlog: () => queue.backlog(),
    maxJobs: 1,
    everyMs: 10_000,
    nowMs: () => nowMs,
  });
  await catchUp.run();
  expect(catchUp.nextMs).toBe(1_000);
  await meterAll(orgId);
  nowMs = 1_000;
  await catchUp.run();
  expect(await waiting()).toHaveLength(100);

  // Metering has not begun these, so an early run would offer them again.
  await store.redis.del(store.names.sweepLock);
  nowMs = 2_000;
  await catchUp.run();
  expect(await store.redis.exists(store.names.sweepLock)).toBe(0);
  nowMs = 11_000;
  await catchUp.run();
  expect(await store.redis.exists(store.names.sweepLock)).toBe(1);

  await meterAll(orgId);
  nowMs = 12_000;
  await catchUp.run();
  expect(await meterAll(orgId)).toBe(50);
  nowMs = 13_000;
  await catchUp.run();
  expect(catchUp.nextMs).toBe(10_000);
});
