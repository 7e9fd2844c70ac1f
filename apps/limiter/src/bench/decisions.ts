/*
 * Measures decisions per second through one session. Callers admit with a reservation, then settle,
 * with every limit on. One limiter, one Redis (append-only file, everysec) and this client run on
 * this machine. Also reports the CPU time that a decision costs each process (Linux), which other
 * work on the machine distorts less than the rate.
 *
 *   node apps/limiter/dist/bench/decisions.js [callers=64] [seconds=5] [rounds=3]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { newInstanceId, newKeyId, newOrgId } from '@tidegate/contracts';
import { LimiterClock } from '../redis/clock.ts';
import { createRedis } from '../redis/connection.ts';
import { KeyNames } from '../redis/names.ts';
import { shardsOf } from '../redis/shards.ts';
import { Store } from '../redis/store.ts';
import { seedKey, seedMonth } from '../seeding/seed.ts';
import { anAdmitCall } from '../testing/admit-call.ts';
import { putOrg } from '../testing/org.ts';
import { SessionClient } from '../testing/session-client.ts';

const KEYS = 16;
const PLENTY = 10_000_000;
const [callers = 64, seconds = 5, rounds = 3] = process.argv.slice(2).map(Number);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function until(what: string, probe: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (await probe().catch(() => false)) return;
    await sleep(50);
  }
  throw new Error(`${what} did not become ready`);
}

/** User and system time of a process so far, in microseconds. */
async function cpuUs(pid: number | undefined): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Makes one organization whose limits are all checked but never reached. */
async function seed(redisUrl: string): Promise<{ orgId: string; keyIds: string[] }> {
  const redis = createRedis(redisUrl);
  redis.on('error', () => redis.disconnect());
  await redis.connect();
  const clock = new LimiterClock(0);
  const context = { store: new Store({ shards: shardsOf(redis) }), names: new KeyNames('tg:'), clock };
  const orgId = newOrgId();
  const keyIds = Array.from({ length: KEYS }, newKeyId);
  const limits = { requestsPerMinute: PLENTY, requestsAtOnce: PLENTY };
  const org = { orgId, version: 1, images: true, requestsPerMonth: PLENTY, tokensPerMonth: 1e12, ...limits };
  await putOrg(context, org);
  for (const keyId of keyIds) {
    const hash = Buffer.alloc(32);
    await seedKey(context, { keyId, orgId, hash, revoked: false, expiresAtMs: 0, modelIds: null, ...limits });
  }
  await seedMonth(context, orgId, clock.month().name, { requests: 0, chargedTokens: 0 });
  redis.disconnect();
  return { orgId, keyIds };
}

async function measure(
  session: SessionClient,
  orgId: string,
  keyIds: readonly string[],
  pids: Readonly<Record<string, number | undefined>>,
): Promise<string> {
  const instanceId = newInstanceId();
  const latencies: number[] = [];
  const endMs = performance.now() + seconds * 1_000;
  const startedMs = performance.now();
  const timed = async <T>(work: Promise<T>): Promise<T> => {
    const fromMs = performance.now();
    const result = await work;
    latencies.push(performance.now() - fromMs);
    return result;
  };
  const caller = async (i: number) => {
    const keyId = keyIds[i % keyIds.length] ?? '';
    while (performance.now() < endMs) {
      const admission = anAdmitCall({ orgId, keyId }, instanceId);
      const outcome = await timed(session.decide({ admit: admission }));
      if (!outcome.admitted) throw new Error(`not admitted: ${JSON.stringify(outcome)}`);
      const { admissionId } = admission;
      const usage = { answered: true, usageValid: true, promptTokens: 7, completionTokens: 3, durationMs: 5 };
      await timed(session.ask({ settle: { orgId, instanceId, admissionId, ...usage } }));
    }
  };
  await session.ask({ heartbeat: { instanceId } });
  const cpuOfAll = () => Promise.all(Object.values(pids).map(cpuUs));
  const cpuBefore = await cpuOfAll();
  await Promise.all(Array.from({ length: callers }, (_, i) => caller(i)));
  const cpuAfter = await cpuOfAll();
  const tookS = (performance.now() - startedMs) / 1_000;
  latencies.sort((a, b) => a - b);
  const at = (q: number) => (latencies[Math.floor(latencies.length * q)] ?? 0).toFixed(2);
  const rate = Math.round(latencies.length / tookS);
  const cost = Object.keys(pids).map((name, i) => {
    const us = ((cpuAfter[i] ?? 0) - (cpuBefore[i] ?? 0)) / latencies.length;
    return `${name} ${us.toFixed(1)}`;
  });
  return `${rate} decisions/s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms; CPU us a decision: ${cost.join(', ')}`;
}

const directory = await mkdtemp(join(tmpdir(), 'tidegate-bench-'));
const children: ChildProcess[] = [];
try {
  const [redisPort, port, adminPort] = await Promise.all([freePort(), freePort(), freePort()]);
  const redisUrl = `redis://127.0.0.1:${redisPort}`;
  const settings = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec'];
  children.push(
    spawn('redis-server', ['--port', String(redisPort), '--dir', directory, ...settings], {
      stdio: 'ignore',
    }),
  );
  const seeded: { orgId: string; keyIds: string[] }[] = [];
  await until('redis', async () => seeded.push(await seed(redisUrl)));
  const [{ orgId, keyIds } = { orgId: '', keyIds: [] }] = seeded;
  const main = fileURLToPath(new URL('../main.js', import.meta.url));
  const env = {
    // biome-ignore lint/style/noProcessEnv: a bench has no config of its own
    PATH: process.env.PATH ?? '',
    REDIS_URL: redisUrl,
    DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none',
    LIMITER_PORT: String(port),
    ADMIN_PORT: String(adminPort),
    LOG_LEVEL: 'warn',
  };
  children.push(spawn(process.execPath, [...process.execArgv, main], { env, stdio: 'inherit' }));
  await until('limiter', async () => (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).ok);
  const [redisServer, limiter] = children;
  const pids = { redis: redisServer?.pid, limiter: limiter?.pid, client: process.pid };
  const session = new SessionClient(`127.0.0.1:${port}`);
  for (let round = 0; round < rounds; round++) {
    process.stdout.write(`${callers} callers: ${await measure(session, orgId, keyIds, pids)}\n`);
  }
  session.close();
} finally {
  for (const child of children.reverse()) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  await rm(directory, { recursive: true, force: true });
}
