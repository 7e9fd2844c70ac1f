import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type QueuedSettlement, toQueued } from '@tidegate/contracts';
import { closeDb, createDb, type Db, ensureRequestPartitions, listRequestPartitions } from '@tidegate/db';
import { dayOf } from '@tidegate/limits';
import { explainRedis } from '@tidegate/redis';
import { createLogger } from '@tidegate/runtime';
import {
  eventually,
  PATIENT_DB,
  type TestPostgres,
  type TestRedis,
  testPostgres,
  testRedis,
} from '@tidegate/testing';
import { createMetering, type Metering } from '../metering.ts';
import { createMeteringMetrics } from '../metrics.ts';
import { openRedisClock, type RedisClock } from '../queue/clock.ts';
import { openSettlementJobs, type SettlementJobs } from '../queue/settlement-jobs.ts';
import { readWrittenUsage, settlement } from '../testing/fixture.ts';
import { DayPartitions } from './partitions.ts';

const DAY_MS = 86_400_000;
const WRONG_DAYS = [60, -60];

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let queue: SettlementJobs;
let clock: RedisClock;
let tests = 0;

beforeAll(async () => {
  redis = await testRedis();
  clock = openRedisClock(redis.url, () => {});
});
afterAll(async () => {
  clock.close();
  await redis.stop();
});
beforeEach(async () => {
  postgres = await testPostgres();
  db = createDb(postgres.url, PATIENT_DB);
  queue = openSettlementJobs({
    redisUrl: redis.url,
    redisPrefix: `t${++tests}:`,
    answerTimeoutMs: 60_000,
    onError: () => {},
  });
  await eventually(() => queue.counts());
});
afterEach(async () => {
  await queue.close();
  await closeDb(db);
  await postgres.drop();
});

/** Metering on a machine whose clock is off by this many days. */
const meteringAt = (wrongDays: number): Metering =>
  createMetering({
    db,
    queue,
    limiters: { confirm: () => Promise.resolve(), close: () => undefined },
    metrics: createMeteringMetrics({
      jobCounts: queue.counts,
      oldestJobS: async () => 0,
      concurrency: 1,
      pingRedis: queue.counts,
      pingPostgres: queue.counts,
    }),
    logger: createLogger({ service: 'metering', level: 'silent' }),
    tracing: null,
    nowMs: () => Date.now() + wrongDays * DAY_MS,
    redisNowMs: clock.nowMs,
  });

const daysAgo = (days: number): QueuedSettlement =>
  toQueued(settlement({ reservedAtMs: Date.now() - days * DAY_MS }));

describe.each(WRONG_DAYS)('metering with a clock that is wrong by %i days', (wrongDays) => {
  it('drops no rows too early, so settlements published again count once and become no dead letters', async () => {
    const data = { settlements: [daysAgo(0), daysAgo(30)] };
    await meteringAt(0).process({ data });
    const metering = meteringAt(wrongDays);
    await metering.partitions.tidy();
    await metering.process({ data });
    const usage = await readWrittenUsage(db);
    expect(usage.rows).toBe(2);
    expect(usage.rollup).toEqual(usage.fromRows);
    expect(usage.months).toEqual(usage.monthsFromRows);
    expect(await queue.counts()).toMatchObject({ waiting: 0, failed: 0 });
  });

  it('accepts no settlement whose day others have already dropped', async () => {
    await ensureRequestPartitions(db, [dayOf(Date.now() - 36 * DAY_MS)]);
    await meteringAt(0).partitions.tidy();
    await meteringAt(wrongDays).process({ data: { settlements: [daysAgo(36)] } });
    expect((await readWrittenUsage(db)).rows).toBe(0);
    expect(await listRequestPartitions(db)).not.toContain(dayOf(Date.now() - 36 * DAY_MS));
    expect(await queue.counts()).toMatchObject({ waiting: 1 });
  });
});

it('leaves expired rows to the next regular run while a dump reads, and says so once', async () => {
  const expired = dayOf(Date.now() - 36 * DAY_MS);
  await ensureRequestPartitions(db, [expired]);
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => lines.push(JSON.parse(line)) };
  const logger = createLogger({ service: 'metering', level: 'info', destination });
  const partitions = new DayPartitions({ db, logger, nowMs: Date.now, redisNowMs: clock.nowMs });
  await db.$transaction(async (dump) => {
    await dump.$executeRaw`LOCK TABLE request IN ACCESS SHARE MODE`;
    await partitions.tidy();
    await partitions.tidy();
  });
  const what = 'expired request rows could not be dropped, because a dump or another reader holds the table';
  expect(lines).toMatchObject([{ level: 'warn', msg: `${what}: trying again` }]);
  expect(await listRequestPartitions(db)).toContain(expired);
  await partitions.tidy();
  expect(lines).toMatchObject([{}, { msg: `resolved: ${what}` }, { days: [expired] }]);
});

it("logs once why Redis' clock, by which days begin, cannot be read", async () => {
  const { host } = new URL(redis.url);
  const refused = openRedisClock(`redis://someone:wrong@${host}`, () => {});
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => lines.push(JSON.parse(line)) };
  const logger = createLogger({ service: 'metering', level: 'info', explain: explainRedis, destination });
  const partitions = new DayPartitions({ db, logger, nowMs: Date.now, redisNowMs: refused.nowMs });
  partitions.start();
  try {
    await eventually(() => lines.length > 0);
    expect(lines).toMatchObject([
      {
        msg: "Redis' clock, by which days begin, could not be read: trying again",
        err: { message: expect.stringMatching(/^Redis (refuses the user or the password|has no password)/) },
      },
    ]);
  } finally {
    await partitions.stop();
    refused.close();
  }
});
