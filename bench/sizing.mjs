// Measures what docs/scaling.md calculates with, besides CPU time: the bytes that a request moves,
// writes and keeps, the memory of an open stream and the CPU time of a chunk. One organization, one
// key, one process of each service.
//
//   node bench/sizing.mjs
//
// Run npm run build first. Linux only: bytes come from /proc.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { cpuUs } from './gateway/cpu.mjs';
import { launch } from './gateway/launch.mjs';
import { startBench } from './stack.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const WARM_UP_S = 4;
const SECONDS = 15;
const CONNECTIONS = 32;
const STREAMS = [
  { streams: 600, chunks: 100, intervalMs: 100, openMs: 3_000 },
  { streams: 1_000, chunks: 8, intervalMs: 2_000, openMs: 12_000 },
  { streams: 5_000, chunks: 8, intervalMs: 2_000, openMs: 12_000 },
];
const LOOK_EVERY_MS = 200;
/** Until what was answered is in Postgres. */
const SETTLE_MS = 3_000;
const run = promisify(execFile);
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const numberIn = (text, name) => Number(new RegExp(`${name}:\\s*(\\d+)`).exec(text)?.[1]);
/** What a process has read and written, sockets included. */
const movedBytes = (pid) => {
  const io = readFileSync(`/proc/${pid}/io`, 'utf8');
  return numberIn(io, 'rchar') + numberIn(io, 'wchar');
};
const residentMb = (pid) => numberIn(readFileSync(`/proc/${pid}/status`, 'utf8'), 'VmRSS') / 1_024;

const bench = await startBench();
const redis = new Redis(bench.stack.info.redis);
const children = [];
const SERVICES = ['gateway', 'limiter', 'metering'];

async function counters() {
  const info = await redis.info();
  const [{ wal, rows }] = await bench.db.$queryRaw`
    SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 AS wal,
           (SELECT sum(pg_total_relation_size(oid)) FROM pg_class
             WHERE relkind = 'r' AND relname LIKE 'request%')::float8 AS rows`;
  return {
    ...Object.fromEntries(SERVICES.map((name) => [`${name}: moved`, movedBytes(bench.stack.pid(name))])),
    'redis: received': numberIn(info, 'total_net_input_bytes'),
    'redis: sent': numberIn(info, 'total_net_output_bytes'),
    'redis: memory': numberIn(info, 'used_memory'),
    'redis: append-only file': numberIn(info, 'aof_current_size'),
    'postgres: log (WAL)': wal,
    'postgres: tables of requests': rows,
  };
}

async function send(key) {
  const keysFile = join(bench.stack.dataDir, 'sizing-keys.json');
  writeFileSync(keysFile, JSON.stringify([key.key]), { mode: 0o600 });
  const input = { urls: [bench.stack.info.gateway], keysFile, connections: CONNECTIONS };
  const script = join(HERE, 'load.mjs');
  const load = async (seconds) => {
    const arg = JSON.stringify({ ...input, content: 'How deep is the sea?', seconds });
    const { stdout } = await run(process.execPath, [script, arg]);
    await wait(SETTLE_MS);
    return JSON.parse(stdout);
  };
  await load(WARM_UP_S);
  const before = await counters();
  const { requests } = await load(SECONDS);
  const after = await counters();
  process.stdout.write(`${requests} requests in ${SECONDS} s; bytes a request:\n`);
  for (const [name, value] of Object.entries(after))
    process.stdout.write(`  ${name} ${Math.round((value - before[name]) / requests)}\n`);
}

async function startUpstream({ chunks, intervalMs }) {
  const args = [join(HERE, 'streams/upstream.mjs'), String(chunks), String(intervalMs)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [port] = await once(child.stdout, 'data');
  return `http://127.0.0.1:${String(port).trim()}/v1`;
}

async function streams(key, load) {
  let mostMb = {};
  const cpuBefore = cpuUs(bench.stack.pid('gateway'));
  const before = numberIn(await redis.info('memory'), 'used_memory');
  let mostRedis = before;
  const look = setInterval(async () => {
    for (const name of SERVICES)
      mostMb = { ...mostMb, [name]: Math.max(mostMb[name] ?? 0, residentMb(bench.stack.pid(name))) };
    mostRedis = Math.max(mostRedis, numberIn(await redis.info('memory'), 'used_memory'));
  }, LOOK_EVERY_MS);
  const options = JSON.stringify({ url: bench.stack.info.gateway, key, ...load });
  const { stdout } = await run(process.execPath, [join(HERE, 'streams/client.mjs'), options]);
  clearInterval(look);
  const said = SERVICES.map((name) => `${name} ${Math.round(mostMb[name])} MB`).join(', ');
  const { truncated } = JSON.parse(stdout);
  const chunkUs = (cpuUs(bench.stack.pid('gateway')) - cpuBefore) / (load.streams * load.chunks);
  process.stdout.write(
    `${load.streams} streams, a chunk every ${load.intervalMs} ms each: ${said}, ` +
      `redis + ${Math.round((mostRedis - before) / 1_024)} KB; gateway's CPU us a chunk ${chunkUs.toFixed(1)}; ${truncated} incomplete\n`,
  );
}

try {
  const whole = await launch(process.execPath, [join(HERE, 'gateway/model.mjs')]);
  children.push({ kill: () => whole.stop() });
  const org = await bench.createOrg();
  const key = await bench.createKey(org);
  await bench.publish(org, `http://127.0.0.1:${whole.line}/v1`);
  await bench.raise(key);
  await bench.running(key.key);
  await send(key);

  for (const load of STREAMS) {
    const other = await bench.createOrg(`Streams ${load.streams}`);
    const streaming = await bench.createKey(other);
    await bench.publish(other, await startUpstream(load));
    await bench.raise(streaming);
    await bench.running(streaming.key);
    await streams(streaming.key, load);
  }
} finally {
  for (const child of children) child.kill('SIGKILL');
  redis.disconnect();
  await bench.stop();
}
