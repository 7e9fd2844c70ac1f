// Measures how many settlements a second one metering worker writes into Postgres. Uses the real
// process on real stores with fsync on. Fills the queue, starts one worker, and waits until all
// rows are there.
//
//   node bench/metering.mjs [settlements] [organizations]
//
// Run npm run build first. Prints one JSON document.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import {
  SETTLEMENT_JOB,
  SETTLEMENT_JOB_OPTIONS,
  SETTLEMENT_QUEUE,
  settlementQueuePrefix,
} from '@tidegate/contracts';
import { closeDb, createDb, migrate } from '@tidegate/db';
import { findRedis, startPostgres, startRedis } from '@tidegate/embedded';
import { limiterService } from '@tidegate/rpc';
import { freePort } from '@tidegate/testing';
import { Queue } from 'bullmq';

const total = Number(process.argv[2] ?? 200_000);
const orgs = Number(process.argv[3] ?? 20);
const BATCH = 100;
const KEYS = 10;
const MODELS = 3;
const root = fileURLToPath(new URL('..', import.meta.url));

const settlement = (i) => ({
  reservationId: `r${String(i).padStart(23, '0')}`,
  outboxId: `${i}-0`,
  orgId: `org_${i % orgs}`,
  keyId: `key_${i % orgs}_${i % KEYS}`,
  modelId: `mdl_${i % orgs}_${i % MODELS}`,
  admittedAtMs: Date.now(),
  answered: i % 50 !== 0,
  errorCode: i % 50 === 0 ? 'upstream_error' : null,
  streamed: i % 2 === 0,
  reservedTokens: 8_192,
  promptTokens: i % 50 === 0 ? null : 900,
  completionTokens: i % 50 === 0 ? null : 120,
  chargedTokens: i % 50 === 0 ? 8_192 : 1_020,
  durationMs: 1_500,
  firstChunkMs: i % 2 === 0 ? 300 : null,
});

async function serveLimiter() {
  const server = new Server();
  const counts = { confirmed: 0 };
  const unused = () => undefined;
  server.addService(limiterService, {
    Session: unused,
    RefreshOrgs: unused,
    RevokeKey: unused,
    GetMonth: unused,
    FindRequest: unused,
    ConfirmSettlements: ({ request }, callback) => {
      counts.confirmed += request.settlements.length;
      callback(null, {});
    },
  });
  const port = await new Promise((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return { server, counts, address: `127.0.0.1:${port}` };
}

const until = async (probe) => {
  while (!(await probe())) await new Promise((resolve) => setTimeout(resolve, 20));
};

const dir = await mkdtemp(join(tmpdir(), 'tidegate-bench-'));
const postgres = await startPostgres({ dataDir: join(dir, 'postgres'), port: await freePort() });
const redis = await startRedis({
  server: await findRedis({ localDir: join(root, '.local/redis-server') }),
  dir,
  port: await freePort(),
  appendonly: true,
});
await migrate(postgres.url);
const db = createDb(postgres.url);
const limiter = await serveLimiter();
const connection = { url: redis.url };
const queue = new Queue(SETTLEMENT_QUEUE, { prefix: settlementQueuePrefix('tg:'), connection });

for (let from = 0; from < total; from += BATCH * 50) {
  const jobs = [];
  for (let first = from; first < Math.min(total, from + BATCH * 50); first += BATCH) {
    const settlements = Array.from({ length: Math.min(BATCH, total - first) }, (_, i) =>
      settlement(first + i),
    );
    jobs.push({ name: SETTLEMENT_JOB, data: { settlements }, opts: SETTLEMENT_JOB_OPTIONS });
  }
  await queue.addBulk(jobs);
}

const adminPort = await freePort();
const worker = spawn(process.execPath, [join(root, 'apps/metering/dist/main.js')], {
  env: {
    PATH: process.env.PATH,
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    LOG_LEVEL: 'warn',
    LIMITER_ADDRESSES: limiter.address,
    ADMIN_PORT: String(adminPort),
  },
  stdio: ['ignore', 'inherit', 'inherit'],
});
const written = async () =>
  Number((await db.$queryRaw`SELECT coalesce(sum(requests), 0)::int AS n FROM month_total`)[0].n);
await until(async () => (await written()) > 0);
const startedMs = performance.now();
const already = await written();
await until(async () => (await written()) === total);
const seconds = (performance.now() - startedMs) / 1_000;
await until(() => limiter.counts.confirmed === total);
const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
const metric = (name) => Number(new RegExp(`^${name}\\{[^}]*\\} (.+)$`, 'm').exec(metrics)?.[1]);
const report = {
  settlements: total,
  organizations: orgs,
  seconds: Number(seconds.toFixed(2)),
  settlementsPerSecond: Math.round((total - already) / seconds),
  rowsPerTransaction: Math.round(
    metric('tidegate_metering_batch_rows_sum') / metric('tidegate_metering_batch_rows_count'),
  ),
  workerCpuSeconds: metric('process_cpu_seconds_total'),
  workerResidentMb: Math.round(metric('process_resident_memory_bytes') / 1e6),
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);

worker.kill('SIGTERM');
await new Promise((resolve) => worker.once('exit', resolve));
await queue.close();
await closeDb(db);
limiter.server.forceShutdown();
await redis.stop();
await postgres.stop();
await rm(dir, { recursive: true, force: true });
