import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  SETTLEMENT_JOB,
  SETTLEMENT_JOB_OPTIONS,
  SETTLEMENT_QUEUE,
  type Settlement,
  settlementQueuePrefix,
  toQueued,
} from '@tidegate/contracts';
import {
  closeDb,
  createDb,
  type Db,
  ensureRequestPartitions,
  listRequestPartitions,
  migrate,
} from '@tidegate/db';
import { startPostgres } from '@tidegate/embedded';
import { createRedisClient, type RedisClient } from '@tidegate/redis';
import { type LimiterHandlers, limiterService } from '@tidegate/rpc';
import {
  eventually,
  freePort,
  PATIENT_DB,
  type TestPostgres,
  type TestRedis,
  testPostgres,
  testRedis,
  testRedisSentinel,
} from '@tidegate/testing';
import { Queue } from 'bullmq';
import { failure, readWrittenUsage, settlement } from './testing/fixture.ts';

/*
 * Runs the built worker as in production: as processes on real stores, killed and restarted, with a
 * limiter that speaks the real protocol and records what is confirmed.
 */
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let connection: RedisClient;
let queue: Queue;
let limiter: Server;
let limiterAddress: string;
const confirmed = new Set<string>();
const workers: ChildProcess[] = [];

beforeAll(async () => {
  redis = await testRedis({ appendonly: true });
  limiter = new Server();
  limiterAddress = await serveLimiter(limiter);
});
afterAll(async () => {
  limiter.forceShutdown();
  await redis.stop();
});
beforeEach(async () => {
  postgres = await testPostgres();
  db = createDb(postgres.url, PATIENT_DB);
  connection = createRedisClient(redis.url);
  queue = queueOver(connection);
  confirmed.clear();
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => kill(worker, 'SIGKILL')));
  await queue.obliterate({ force: true });
  await queue.close();
  connection.disconnect();
  await closeDb(db);
  await postgres.drop();
});

function queueOver(client: RedisClient): Queue {
  client.on('error', () => undefined);
  const opened = new Queue(SETTLEMENT_QUEUE, { prefix: settlementQueuePrefix('tg:'), connection: client });
  opened.on('error', () => undefined);
  return opened;
}

async function serveLimiter(server: Server): Promise<string> {
  const unused = () => undefined;
  const handlers: LimiterHandlers = {
    Session: unused,
    RefreshOrgs: unused,
    RevokeKey: unused,
    ForgetOrg: unused,
    GetMonth: unused,
    FindRequest: unused,
    ConfirmSettlements: ({ request }, callback) => {
      for (const { outboxId } of request.settlements) confirmed.add(outboxId);
      callback(null, {});
    },
  };
  server.addService(limiterService, handlers);
  return new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(`127.0.0.1:${port}`),
    ),
  );
}

interface Running {
  readonly process: ChildProcess;
  readonly admin: string;
}

/** Resolves when the worker says whether it is ready. */
async function launchWorker(
  databaseUrl = postgres.url,
  redisUrl = redis.url,
  env: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const port = await freePort();
  const worker = spawn(process.execPath, [MAIN], {
    env: {
      PATH: process.env.PATH ?? '',
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      LIMITER_ADDRESSES: `127.0.0.1:1,${limiterAddress}`,
      ADMIN_PORT: String(port),
      LOG_LEVEL: 'silent',
      ...env,
    },
    stdio: 'inherit',
  });
  workers.push(worker);
  const admin = `http://127.0.0.1:${port}`;
  await eventually(() => readiness(admin));
  return { process: worker, admin };
}

async function startWorker(...options: Parameters<typeof launchWorker>): Promise<Running> {
  const worker = await launchWorker(...options);
  await eventually(async () => (await readiness(worker.admin)) === 'ready\n');
  return worker;
}

const readiness = async (admin: string): Promise<string> => (await fetch(`${admin}/readyz`)).text();

async function kill(worker: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (worker.exitCode !== null || worker.signalCode !== null) return worker.exitCode;
  const exited = once(worker, 'exit');
  worker.kill(signal);
  await exited;
  return worker.exitCode;
}

/** A settlement as the limiter queues it. Anything else stays as it is. */
const queuedOf = (item: unknown) =>
  typeof item === 'object' && item !== null ? toQueued(item as Settlement) : item;
const publish = (items: readonly unknown[], to = queue) =>
  to.add(SETTLEMENT_JOB, { settlements: items.map(queuedOf) }, SETTLEMENT_JOB_OPTIONS);

/** Longer than all attempts at a confirmation take. */
const SWEEP_MS = 10_000;

/** A day whose rows are kept whenever the tests run. */
const TODAY = new Date().toISOString().slice(0, 10);
let lastOutboxId = 0;
const many = (count: number): Settlement[] =>
  Array.from({ length: count }, (_, i) => {
    const fields = {
      orgId: `org_${i % 3}`,
      keyId: `key_${i % 5}`,
      modelId: 'mdl_a',
      reservedAtMs: Date.parse(TODAY),
      outboxId: `${++lastOutboxId}-0`,
    };
    return i % 4 === 0 ? failure(fields) : settlement(fields);
  });

/**
 * Expects each settlement to count once: rows, rollups and months agree with what was published.
 */
async function expectOnce(published: readonly Settlement[]): Promise<void> {
  const usage = await readWrittenUsage(db);
  expect(usage.rows).toBe(new Set(published.map((s) => s.reservationId)).size);
  expect(usage.rollup).toEqual(usage.fromRows);
  expect(usage.months).toEqual(usage.monthsFromRows);
}

const idle = async () => {
  const { waiting, active, delayed } = await queue.getJobCounts('waiting', 'active', 'delayed');
  return waiting === 0 && active === 0 && delayed === 0;
};

/**
 * Resolves when these are confirmed. A confirmation that a busy machine has held up for too long is
 * dropped, and then the sweep publishes its settlement again.
 */
async function untilConfirmed(settlements: readonly Settlement[]): Promise<void> {
  let sweepAtMs = performance.now() + SWEEP_MS;
  await eventually(async () => {
    const left = settlements.filter(({ outboxId }) => !confirmed.has(outboxId));
    if (left.length === 0) return true;
    if (performance.now() < sweepAtMs || !(await idle())) return false;
    await publish(left);
    sweepAtMs = performance.now() + SWEEP_MS;
    return false;
  });
}

describe('exactly once', () => {
  it('counts every settlement once with two workers and each batch published twice, and confirms all of them', async () => {
    const settlements = many(1_000);
    await Promise.all([startWorker(), startWorker()]);
    const batches = Array.from({ length: 10 }, (_, i) => settlements.slice(i * 100, i * 100 + 100));
    await Promise.all([...batches, ...batches].map((batch) => publish(batch)));
    await eventually(idle);
    await expectOnce(settlements);
    await untilConfirmed(settlements);
    expect(await queue.getFailedCount()).toBe(0);
  });

  it('survives kill -9 of a worker inside its transaction: the batch is redelivered and counted once', async () => {
    const settlements = many(100);
    const [held] = settlements;
    await ensureRequestPartitions(db, [TODAY]);
    const doomed = await startWorker();
    await db.$transaction(async (tx) => {
      // An uncommitted row with the same id makes the worker's statement wait.
      await tx.$executeRaw`
          INSERT INTO request (reservation_id, day, org_id, key_id, model_id, admitted_at, answered, streamed, reserved_tokens, charged_tokens)
          VALUES (${held?.reservationId}, ${TODAY}::date, 'o', 'k', 'm', now(), true, false, 1, 1)`;
      await publish(settlements);
      await eventually(async () => {
        const [row] = await db.$queryRaw<{ n: number }[]>`
            SELECT count(*)::int AS n FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        return row?.n === 1;
      });
      await kill(doomed.process, 'SIGKILL');
      await tx.$executeRaw`DELETE FROM request`;
    });
    await startWorker();
    await untilConfirmed(settlements);
    await expectOnce(settlements);
  });

  it('finishes its batches on SIGTERM, and leaves the rest to the next worker', async () => {
    const settlements = many(3_000);
    const worker = await startWorker();
    const jobs = Array.from({ length: 30 }, (_, i) => publish(settlements.slice(i * 100, i * 100 + 100)));
    await jobs[0];
    expect(await kill(worker.process, 'SIGTERM')).toBe(0);
    await Promise.all(jobs);
    expect(await queue.getActiveCount()).toBe(0);
    await startWorker();
    await eventually(idle);
    await expectOnce(settlements);
  });
});

describe('a Postgres that is unavailable', () => {
  it('delays writes, and everything is written once when it is back', async () => {
    const port = await freePort();
    const dataDir = `${process.env.TIDEGATE_TEST_DIR}/metering-${port}`;
    const start = () => startPostgres({ dataDir, port });
    let server = await start();
    await migrate(server.url);
    await closeDb(db);
    db = createDb(server.url, PATIENT_DB);
    const worker = await startWorker(server.url);
    const [before, during] = [many(100), many(300)];
    await publish(before);
    await eventually(async () => (await readWrittenUsage(db)).rows === 100);
    await server.stop();
    for (let i = 0; i < 3; i++) await publish(during.slice(i * 100, i * 100 + 100));
    await eventually(async () => (await queue.getDelayedCount()) === 3);
    expect((await fetch(`${worker.admin}/healthz`)).status).toBe(200);
    expect((await fetch(`${worker.admin}/readyz`)).status).toBe(503);
    server = await start();
    try {
      // The last of the retries may come a minute after the one before.
      await eventually(async () => (await readWrittenUsage(db)).rows === 400, { timeoutMs: 180_000 });
      await expectOnce([...before, ...during]);
    } finally {
      await Promise.all(workers.splice(0).map((one) => kill(one, 'SIGKILL')));
      await closeDb(db);
      await server.stop();
    }
  });
});

describe('a worker whose database lacks a migration', () => {
  it('is not ready and says what to run, until the migration is there', async () => {
    const newest = 'SELECT max(migration_name) FROM _prisma_migrations';
    const setFinished = (at: string) =>
      db.$executeRawUnsafe(
        `UPDATE _prisma_migrations SET finished_at = ${at} WHERE migration_name = (${newest})`,
      );
    await setFinished('NULL');
    try {
      const { admin } = await launchWorker();
      await eventually(async () => /lacks migration .* run migrate/.test(await readiness(admin)));
      await setFinished('now()');
      await eventually(async () => (await readiness(admin)) === 'ready\n');
    } finally {
      await setFinished('now()');
    }
  });
});

describe('a worker that is told to stop', () => {
  it('first reports that it is not ready, and keeps writing during its shutdown delay', async () => {
    const worker = await startWorker(postgres.url, redis.url, { SHUTDOWN_DELAY_MS: '3600000' });
    worker.process.kill('SIGTERM');
    await eventually(async () => (await fetch(`${worker.admin}/readyz`)).status === 503);
    await publish(many(100));
    await eventually(async () => (await readWrittenUsage(db)).rows === 100);
  });
});

describe('a Redis that is unavailable', () => {
  it('is used again once it is back from its append-only file, and metering is ready again', async () => {
    const worker = await startWorker();
    const [before, after] = [many(200), many(200)];
    await publish(before.slice(0, 100));
    await publish(before.slice(100));
    await redis.kill('SIGKILL');
    await eventually(async () => (await fetch(`${worker.admin}/readyz`)).status === 503);
    await redis.restart();
    await publish(after);
    await eventually(async () => (await readWrittenUsage(db)).rows === 400);
    await expectOnce([...before, ...after]);
    await eventually(async () => (await fetch(`${worker.admin}/readyz`)).ok);
  });
});

describe('a Redis that is replaced', () => {
  it('is followed to the master that Sentinels name when the old one hangs', async () => {
    const sentinel = await testRedisSentinel();
    const [master, replica] = sentinel.nodes;
    await startWorker(postgres.url, sentinel.url);
    const [before, after] = [many(50), many(50)];
    let client = createRedisClient(sentinel.url);
    try {
      await publish(before, queueOver(client));
      await eventually(async () => (await readWrittenUsage(db)).rows === 50);
      master.running.kill('SIGSTOP');
      await sentinel.setDownAfter(1_000);
      client.disconnect();
      await sentinel.until(replica, 'master');
      client = createRedisClient(replica.running.url);
      await publish(after, queueOver(client));
      await eventually(async () => (await readWrittenUsage(db)).rows === 100);
      await expectOnce([...before, ...after]);
    } finally {
      client.disconnect();
      await sentinel.stop();
    }
  });
});

describe('dead letters', () => {
  it('hold a settlement that can never be written, once, however often it arrives, and the rest of its batch is counted', async () => {
    const good = many(3);
    const bad = { ...many(1)[0], chargedTokens: 5_000 };
    const worker = await startWorker();
    await publish([good[0], bad, good[1], 'nonsense', good[2]]);
    await eventually(async () => (await queue.getFailedCount()) === 2);
    await untilConfirmed(good);
    // This settlement comes alone, to an idle worker. The next ones must be confirmed, too.
    await publish([bad]);
    await eventually(idle);
    const later = many(1);
    await publish(later);
    await untilConfirmed(later);
    await expectOnce([...good, ...later]);
    expect(await queue.getFailedCount()).toBe(2);
    expect(confirmed.has(String(bad.outboxId))).toBe(false);
    const reasons = (await queue.getFailed()).map((job) => job.failedReason);
    expect(reasons).toEqual(
      expect.arrayContaining([expect.stringContaining('chargedTokens exceeds reservedTokens')]),
    );
    expect(await (await fetch(`${worker.admin}/metrics`)).text()).toContain(
      'state="failed",service="metering"} 2',
    );
  });

  it('are counted once when they are replayed after the cause is gone', async () => {
    const settlements = many(10);
    const data = { settlements: settlements.map(toQueued) };
    const job = await queue.add(SETTLEMENT_JOB, data, { ...SETTLEMENT_JOB_OPTIONS, attempts: 1 });
    await db.$executeRaw`ALTER TABLE usage_day RENAME TO usage_day_away`;
    await startWorker();
    await eventually(async () => (await job.getState()) === 'failed');
    await db.$executeRaw`ALTER TABLE usage_day_away RENAME TO usage_day`;
    await job.retry('failed', { resetAttemptsMade: true });
    await untilConfirmed(settlements);
    await expectOnce(settlements);
  });
});

describe('partitions', () => {
  it('exist for today and tomorrow, are created for other days when needed, and dropped after 35 days', async () => {
    const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
    await ensureRequestPartitions(db, [day(-36), day(-35)]);
    await startWorker();
    await eventually(async () => {
      const days = await listRequestPartitions(db);
      return days.includes(day(0)) && days.includes(day(1)) && !days.includes(day(-36));
    });
    expect(await listRequestPartitions(db)).toContain(day(-35));
    const late = settlement({ reservedAtMs: Date.now() - 20 * 86_400_000 });
    await publish([late]);
    await eventually(idle);
    await expectOnce([late]);
    const tooLate = settlement({ reservedAtMs: Date.now() - 36 * 86_400_000 });
    await publish([tooLate]);
    await eventually(async () => (await queue.getFailedCount()) === 1);
    await expectOnce([late]);
  });
});
