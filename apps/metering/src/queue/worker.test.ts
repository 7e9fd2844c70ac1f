import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  SETTLEMENT_JOB,
  SETTLEMENT_JOB_OPTIONS,
  SETTLEMENT_QUEUE,
  type SettlementBatch,
  settlementQueuePrefix,
  toQueued,
} from '@tidegate/contracts';
import { createRedisClient, type RedisClient } from '@tidegate/redis';
import { createLogger } from '@tidegate/runtime';
import { eventually, type TestRedis, testRedis } from '@tidegate/testing';
import { Queue } from 'bullmq';
import { createMeteringMetrics } from '../metrics.ts';
import { settlement } from '../testing/fixture.ts';
import { type SettlementWorker, startWorker } from './worker.ts';

const STATE = {
  jobCounts: async () => ({}),
  oldestJobS: async () => 0,
  concurrency: 4,
  pingRedis: async () => 0,
  pingPostgres: async () => 0,
};
const PREFIX = settlementQueuePrefix('tg:');

let redis: TestRedis;
let connection: RedisClient;
let queue: Queue<SettlementBatch>;
let worker: SettlementWorker | undefined;
let logged: string[];

beforeAll(async () => {
  redis = await testRedis();
  connection = createRedisClient(redis.url, { maxRetriesPerRequest: null });
  queue = new Queue(SETTLEMENT_QUEUE, { prefix: PREFIX, connection });
  // One test takes its Redis away.
  queue.on('error', () => {});
});
beforeEach(() => {
  logged = [];
});
afterEach(async () => {
  await connection.config('SET', 'maxmemory', '0');
  await worker?.close();
  await queue.obliterate({ force: true });
});
afterAll(async () => {
  await queue.close();
  connection.disconnect();
  await redis.stop();
});

const start = (process: () => Promise<void>): SettlementWorker =>
  startWorker({
    redisUrl: redis.url,
    redisPrefix: 'tg:',
    concurrency: 4,
    process,
    metrics: createMeteringMetrics(STATE),
    logger: createLogger({
      service: 'metering',
      level: 'info',
      destination: { write: (line) => logged.push(line) },
    }),
  });

it('keeps the reason why a job failed and no stacks, however often it was tried', async () => {
  const options = { ...SETTLEMENT_JOB_OPTIONS, attempts: 5, backoff: { type: 'fixed', delay: 0 } };
  const job = await queue.add(SETTLEMENT_JOB, { settlements: [toQueued(settlement())] }, options);
  worker = start(() => Promise.reject(new Error('Postgres is away')));
  await eventually(async () => (await queue.getFailedCount()) === 1);
  const fields = await connection.hgetall(`${PREFIX}:${SETTLEMENT_QUEUE}:${job.id}`);
  expect(fields).toMatchObject({ atm: '5', failedReason: 'Postgres is away', stacktrace: '[]' });
});

it('rests when a full Redis refuses its commands, and goes on once there is room', async () => {
  await connection.config('SET', 'maxmemory-policy', 'noeviction');
  for (let i = 0; i < 8; i++)
    await queue.add(SETTLEMENT_JOB, { settlements: [toQueued(settlement())] }, SETTLEMENT_JOB_OPTIONS);
  await connection.config('SET', 'maxmemory', '1');
  let done = 0;
  worker = start(async () => {
    done += 1;
  });
  await eventually(() => logged.length > 0);
  const [before, scripts] = [await secondsOf(), await commandsOf('evalsha')];
  await eventually(async () => (await secondsOf()) >= before + 3);
  expect((await commandsOf('evalsha')) - scripts).toBeLessThan(100);
  await connection.config('SET', 'maxmemory', '0');
  await eventually(() => done === 8);
});

it('logs once that Redis is unavailable and once that it is back, and other errors as they come', async () => {
  const lines = () => logged.map((line) => JSON.parse(line) as { level: string; msg: string; err?: object });
  let [began, end] = [() => {}, () => {}];
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const taken = new Promise<void>((resolve) => {
    began = resolve;
  });
  worker = start(() => {
    began();
    return ended;
  });
  const job = await queue.add(SETTLEMENT_JOB, { settlements: [] }, SETTLEMENT_JOB_OPTIONS);
  await taken;
  await connection.del(`${PREFIX}:${SETTLEMENT_QUEUE}:${job.id}`);
  end();
  await eventually(() => logged.length > 0);
  await redis.kill('SIGKILL');
  const sinceMs = performance.now();
  await eventually(() => performance.now() - sinceMs > 3_000);
  await redis.restart();
  await eventually(() => lines().some(({ level }) => level === 'info'));
  const own = { level: 'warn', msg: 'the queue reported an error' };
  for (const line of lines().filter(({ msg }) => msg === own.msg))
    expect(line).toMatchObject({ ...own, err: { message: expect.stringContaining('Missing key') } });
  expect(lines()[0]).toMatchObject(own);
  const others = lines().filter(({ msg }) => msg !== own.msg);
  expect(others.map(({ level, msg }) => [level, msg])).toEqual([
    ['warn', 'the queue connection failed: trying again'],
    ['info', 'resolved: the queue connection failed'],
  ]);
});

it('stops while Redis is unavailable, once the job under way has ended', async () => {
  const order: string[] = [];
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  worker = start(async () => {
    order.push('began');
    await ended;
    order.push('ended');
  });
  await queue.add(SETTLEMENT_JOB, { settlements: [toQueued(settlement())] }, SETTLEMENT_JOB_OPTIONS);
  await eventually(() => order.length > 0);
  await redis.kill('SIGKILL');
  try {
    const closed = worker.close().then(() => order.push('closed'));
    await eventually(() => logged.length > 0);
    end();
    await closed;
    expect(order).toEqual(['began', 'ended', 'closed']);
  } finally {
    worker = undefined;
    await redis.restart();
  }
});

/** How often Redis has run this command. */
async function commandsOf(command: string): Promise<number> {
  const stats = await connection.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

const secondsOf = async (): Promise<number> => Number((await connection.time())[0]);
