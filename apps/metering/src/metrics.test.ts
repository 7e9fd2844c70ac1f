import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newRequestId } from '@tidegate/contracts';
import { type Admin, createLogger, startAdmin } from '@tidegate/runtime';
import { eventually, type TestRedis, testRedis } from '@tidegate/testing';
import { createMeteringMetrics } from './metrics.ts';
import { openSettlementJobs, type SettlementJobs } from './queue/settlement-jobs.ts';
import { requestIdsOf } from './queue/worker.ts';

let redis: TestRedis;
let queue: SettlementJobs;
let admin: Admin;

beforeAll(async () => {
  redis = await testRedis({ appendonly: true });
  queue = openSettlementJobs({ redisUrl: redis.url, redisPrefix: 'tg:', onError: () => {} });
  const { registry } = createMeteringMetrics({
    jobCounts: queue.counts,
    oldestJobS: () => queue.oldestS(Date.now()),
    concurrency: 40,
    pingRedis: queue.counts,
    pingPostgres: () => Promise.resolve(),
  });
  const logger = createLogger({ service: 'metering', level: 'silent' });
  admin = await startAdmin({ host: '127.0.0.1', port: 0, metrics: registry, ready: () => true, logger });
});
afterEach(async () => {
  await redis.restart();
  await eventually(jobs);
});
afterAll(async () => {
  await admin.close();
  await queue.close();
  await redis.stop();
});

async function scrape(): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${admin.port}/metrics`);
  expect(response.status).toBe(200);
  return response.text();
}

/** Resolves when a scrape has this line. A busy machine may read it too late for one scrape. */
const shows = (line: RegExp) => eventually(async () => line.test(await scrape()));

/** The samples of the queue's gauge. Null: there are none. The scrape succeeds in any case. */
async function jobs(): Promise<Record<string, number> | null> {
  const text = await scrape();
  expect(text).toContain('tidegate_metering_dead_letters_total');
  const samples = [...text.matchAll(/^tidegate_metering_jobs\{state="(\w+)".*\} (\d+)$/gm)];
  return samples.length === 0 ? null : Object.fromEntries(samples.map(([, state, n]) => [state, Number(n)]));
}

describe("the queue's gauge", () => {
  it('has no samples while Redis is unavailable, rather than old ones', async () => {
    await eventually(() => queue.queueSeparately([{}], 'one').then(() => true));
    expect(await eventually(jobs)).toEqual({ waiting: 1, active: 0, delayed: 0, failed: 0 });
    await shows(/^tidegate_metering_oldest_job_seconds\{service="metering"\} \d/m);
    await shows(/^tidegate_redis_up\{service="metering"\} 1$/m);
    await redis.kill();
    await eventually(async () => (await jobs()) === null);
    expect(await scrape()).not.toMatch(/^tidegate_metering_oldest_job_seconds/m);
    await shows(/^tidegate_redis_up\{service="metering"\} 0$/m);
    await redis.restart();
    await eventually(async () => (await jobs())?.waiting === 1);
  });

  it('has no samples while Redis hangs, and delays no scrape', async () => {
    await eventually(async () => (await jobs()) !== null);
    for (const pid of redis.pids) process.kill(pid, 'SIGSTOP');
    try {
      expect(await jobs()).toBeNull();
    } finally {
      for (const pid of redis.pids) process.kill(pid, 'SIGCONT');
    }
  });
});

describe('the log of a failed job', () => {
  it('names the first requests, and nothing that is not a request id', () => {
    const id = newRequestId();
    const settlements = [{ reservationId: id }, { reservationId: 'x y' }, null, {}, 7];
    expect(requestIdsOf({ settlements })).toEqual([`req_${id}`]);
    expect(requestIdsOf({ settlements: Array(100).fill({ reservationId: id }) })).toHaveLength(5);
    for (const data of [null, 'text', {}, { settlements: 'none' }]) expect(requestIdsOf(data)).toEqual([]);
  });
});

it('the limit on active jobs is exported beside their number', async () => {
  expect(await scrape()).toMatch(/^tidegate_metering_active_jobs_max\{.*\} 40$/m);
});
