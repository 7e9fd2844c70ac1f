import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Admin, startAdmin } from '@tidegate/runtime';
import { eventually, type TestRedis, testRedis } from '@tidegate/testing';
import { createMeteringMetrics } from './metrics.ts';
import { openSettlementJobs, type SettlementJobs } from './queue/settlement-jobs.ts';

let redis: TestRedis;
let queue: SettlementJobs;
let admin: Admin;

beforeAll(async () => {
  redis = await testRedis({ appendonly: true });
  queue = openSettlementJobs({ redisUrl: redis.url, redisPrefix: 'tg:', onError: () => {} });
  const { registry } = createMeteringMetrics(queue.counts);
  admin = await startAdmin({ host: '127.0.0.1', port: 0, metrics: registry, ready: () => true });
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

/** The samples of the queue's gauge. Null: there are none. The scrape succeeds in any case. */
async function jobs(): Promise<Record<string, number> | null> {
  const response = await fetch(`http://127.0.0.1:${admin.port}/metrics`);
  const text = await response.text();
  expect(response.status).toBe(200);
  expect(text).toContain('tidegate_metering_dead_letters_total');
  const samples = [...text.matchAll(/^tidegate_metering_jobs\{state="(\w+)".*\} (\d+)$/gm)];
  return samples.length === 0 ? null : Object.fromEntries(samples.map(([, state, n]) => [state, Number(n)]));
}

describe("the queue's gauge", () => {
  it('has no samples while Redis is unavailable, rather than old ones', async () => {
    await eventually(() => queue.isolate([{}], 'one').then(() => true));
    expect(await jobs()).toEqual({ waiting: 1, active: 0, delayed: 0, failed: 0 });
    await redis.kill();
    await eventually(async () => (await jobs()) === null);
    await redis.restart();
    await eventually(async () => (await jobs())?.waiting === 1);
  });

  it('has none while Redis hangs, and delays no scrape', async () => {
    await eventually(async () => (await jobs()) !== null);
    for (const pid of redis.pids) process.kill(pid, 'SIGSTOP');
    try {
      expect(await jobs()).toBeNull();
    } finally {
      for (const pid of redis.pids) process.kill(pid, 'SIGCONT');
    }
  });
});
