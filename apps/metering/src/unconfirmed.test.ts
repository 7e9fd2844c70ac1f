import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { toQueued } from '@tidegate/contracts';
import { closeDb, createDb, type Db } from '@tidegate/db';
import { createLogger } from '@tidegate/runtime';
import {
  eventually,
  PATIENT_DB,
  type TestPostgres,
  type TestRedis,
  testPostgres,
  testRedis,
} from '@tidegate/testing';
import { createMetering } from './metering.ts';
import { createMeteringMetrics } from './metrics.ts';
import { openSettlementJobs, type SettlementJobs } from './queue/settlement-jobs.ts';
import { connectLimiters } from './settlements/limiters.ts';
import { settlement } from './testing/fixture.ts';

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let queue: SettlementJobs;

beforeEach(async () => {
  [postgres, redis] = [await testPostgres(), await testRedis()];
  db = createDb(postgres.url, PATIENT_DB);
  queue = openSettlementJobs({ redisUrl: redis.url, redisPrefix: 'tg:', onError: () => {} });
});
afterEach(async () => {
  await queue.close();
  await closeDb(db);
  await Promise.all([postgres.drop(), redis.stop()]);
});

it('says in a few words why commits could not be confirmed', async () => {
  const lines: Record<string, unknown>[] = [];
  const limiters = connectLimiters(['127.0.0.1:1'], { token: null, tls: null });
  const metering = createMetering({
    ...{ db, queue, limiters, tracing: null, nowMs: Date.now, redisNowMs: async () => Date.now() },
    metrics: createMeteringMetrics({
      ...{ jobCounts: queue.counts, oldestJobS: async () => 0, concurrency: 1 },
      ...{ pingRedis: queue.counts, pingPostgres: queue.counts },
    }),
    logger: createLogger({
      service: 'metering',
      level: 'info',
      destination: { write: (line) => lines.push(JSON.parse(line)) },
    }),
  });
  await metering.process({ data: { settlements: [toQueued(settlement({}))] } });
  expect(await eventually(() => lines[0])).toMatchObject({
    msg: 'commits could not be confirmed: the limiter will publish their settlements again',
    reason: 'no connection: connect ECONNREFUSED 127.0.0.1:1',
    count: 1,
  });
  await metering.drain();
  limiters.close();
});
