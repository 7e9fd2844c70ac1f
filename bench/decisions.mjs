// Measures decisions per second through one session. Callers admit with a reservation, then settle,
// with every limit on. One limiter, its stores (Redis with an append-only file, everysec) and this
// client run on this machine. Also reports the CPU time that a decision costs each process (Linux),
// which other work on the machine distorts less than the rate.
//
//   node bench/decisions.mjs [callers=64] [seconds=5] [rounds=3] [replica=none|any|required]
//
// Several numbers of callers, as in 32,64, are measured one after the other. With a replica, Redis
// is a master behind Sentinel; "required" sets min-replicas-to-write.
//
// Run npm run build first.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  newApiKey,
  newInstanceId,
  newKeyId,
  newOrgId,
  newPlanId,
  newRequestId,
  orgTagOf,
} from '@tidegate/contracts';
import { closeDb, createDb, migrate } from '@tidegate/db';
import { findRedis, startPostgres, startRedis, startRedisSentinel } from '@tidegate/embedded';
import { exitOf, stopChild, until } from '@tidegate/processes';
import { createLimiterClient } from '@tidegate/rpc';
import { freePort, generousPlan } from '@tidegate/testing';
import { OpenCalls } from '../apps/gateway/dist/limiter/open-calls.js';
import { cpuUs } from './gateway/cpu.mjs';

const KEYS = 16;
const PLENTY = 10_000_000;
/** Until the code of all three processes is compiled. Not reported. */
const WARM_UP_S = 3;
const [loads = '64', ...rest] = process.argv.slice(2);
const [seconds = 5, rounds = 3] = rest.slice(0, 2).map(Number);
const replica = rest[2] ?? 'none';
const root = fileURLToPath(new URL('..', import.meta.url));

/** Creates one organization whose limits are all checked but never reached. */
async function createOrg(db) {
  // Lets a key have more than the contract allows.
  await db.$executeRaw`ALTER TABLE api_key DROP CONSTRAINT api_key_requests_per_minute_check`;
  const plan = { ...generousPlan(), id: newPlanId(), name: 'Bench', position: 9 };
  await db.plan.create({ data: { ...plan, requestsPerMinute: PLENTY, requestsAtOnce: PLENTY } });
  const orgId = newOrgId();
  await db.org.create({ data: { id: orgId, slug: 'bench', name: 'Bench', planId: plan.id } });
  const keys = Array.from({ length: KEYS }, () => {
    const { prefix, hash } = newApiKey(orgTagOf(orgId));
    const key = { id: newKeyId(), orgId, name: 'bench', prefix, hash, allModels: true };
    return { ...key, requestsPerMinute: PLENTY, requestsAtOnce: 256 };
  });
  await db.apiKey.createMany({ data: keys });
  return { orgId, keyIds: keys.map(({ id }) => id) };
}

/** A gateway's end of a session. The calls of one turn travel as one message. */
function openSession(address) {
  const client = createLimiterClient(address);
  const stream = client.session();
  const open = new OpenCalls();
  let calls = [];
  const flush = () => {
    stream.write({ calls });
    calls = [];
  };
  stream.on('data', ({ replies }) => {
    for (const reply of replies) open.take(reply.callId)?.resolve(reply);
  });
  stream.on('error', (error) => {
    while (open.size > 0) open.takeOldestIf(() => true).reject(error);
  });
  return {
    ask: (call) =>
      new Promise((resolve, reject) => {
        const callId = open.nextNumber;
        open.add({ resolve, reject });
        if (calls.length === 0) setImmediate(flush);
        calls.push({ callId, ...call });
      }),
    close: () => {
      stream.end();
      client.close();
    },
  };
}

const USAGE = { answered: true, usageValid: true, promptTokens: 7, completionTokens: 3, durationMs: 5 };

const ownCpuUs = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/**
 * One round. Returns what it measured, in words.
 *
 * @param cpus by name of a process: its CPU time so far, in microseconds
 */
async function measure({ ask }, { orgId, keyIds }, cpus, { callers, forSeconds = seconds }) {
  const instanceId = newInstanceId();
  const latencies = [];
  const timed = async (call) => {
    const fromMs = performance.now();
    const reply = await ask(call);
    latencies.push(performance.now() - fromMs);
    return reply;
  };
  await ask({ heartbeat: { instanceId } });
  const cpuOfAll = () => Object.values(cpus).map((cpuOf) => cpuOf());
  const cpuBefore = cpuOfAll();
  const startedMs = performance.now();
  const endMs = startedMs + forSeconds * 1_000;
  const caller = async (i) => {
    const keyId = keyIds[i % keyIds.length];
    while (performance.now() < endMs) {
      const held = { orgId, instanceId, admissionId: newRequestId() };
      const model = { modelId: 'mdl_bench', contextTokens: 1_000, hasImages: false, streamed: false };
      const reply = await timed({ admit: { ...held, keyId, ...model, reserve: true } });
      if (!reply.admission?.admitted) throw new Error(`not admitted: ${JSON.stringify(reply)}`);
      await timed({ settle: { ...held, ...USAGE } });
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, i) => caller(i)));
  const tookS = (performance.now() - startedMs) / 1_000;
  const cpuAfter = cpuOfAll();
  latencies.sort((a, b) => a - b);
  const at = (q) => latencies[Math.floor(latencies.length * q)].toFixed(2);
  const costs = Object.keys(cpus).map(
    (name, i) => `${name} ${((cpuAfter[i] - cpuBefore[i]) / latencies.length).toFixed(1)}`,
  );
  const rate = Math.round(latencies.length / tookS);
  return `${callers} callers: ${rate} decisions/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms; CPU us a decision: ${costs.join(', ')}`;
}

async function openRedis(server, dir) {
  if (replica === 'none') return startRedis({ server, dir, port: await freePort() });
  const ports = { redis: [await freePort(), await freePort()], sentinel: await freePort() };
  const minReplicas = replica === 'required' ? 1 : 0;
  const { url, nodes, stop } = await startRedisSentinel({
    ...{ server, dir, ports, minReplicas },
    downAfterMs: 60_000,
  });
  return { url, pid: nodes[0].running.pid, stop };
}

const dir = await mkdtemp(join(tmpdir(), 'tidegate-bench-'));
const undo = [() => rm(dir, { recursive: true, force: true })];
try {
  const postgres = await startPostgres({ dataDir: join(dir, 'postgres'), port: await freePort() });
  undo.push(() => postgres.stop());
  const server = await findRedis({ localDir: join(root, '.local/redis-server') });
  const redis = await openRedis(server, join(dir, 'redis'));
  undo.push(() => redis.stop());
  await migrate(postgres.url);
  const db = createDb(postgres.url);
  undo.push(() => closeDb(db));
  const org = await createOrg(db);
  const [port, adminPort] = [await freePort(), await freePort()];
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    LOG_LEVEL: 'warn',
    LIMITER_PORT: String(port),
    ADMIN_PORT: String(adminPort),
    // As the local stack, the compose file and the manifests start it.
    NODE_OPTIONS: '--max-semi-space-size=32',
  };
  const main = join(root, 'apps/limiter/dist/main.js');
  const limiter = spawn(process.execPath, [...process.execArgv, main], {
    env,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const exited = exitOf(limiter);
  undo.push(() => stopChild(limiter, { exited, timeoutMs: 15_000 }));
  const isReady = () =>
    fetch(`http://127.0.0.1:${adminPort}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  if (!(await until(isReady, { timeoutMs: 30_000 }))) throw new Error('the limiter did not become ready');
  const session = openSession(`127.0.0.1:${port}`);
  undo.push(() => session.close());
  const cpus = { redis: () => cpuUs(redis.pid), limiter: () => cpuUs(limiter.pid), client: ownCpuUs };
  const numbers = loads.split(',').map(Number);
  await measure(session, org, cpus, { callers: Math.max(...numbers), forSeconds: WARM_UP_S });
  for (const callers of numbers)
    for (let round = 0; round < rounds; round++)
      process.stdout.write(`${await measure(session, org, cpus, { callers })}\n`);
} finally {
  for (const end of undo.reverse()) await end();
}
