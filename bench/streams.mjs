// Runs many streams at once through one gateway and, for comparison, directly from the model.
// Measures what the gateway adds to the first chunk and to later ones, whether all streams are
// complete, and the gateway's memory. Interleaves rounds, because machines are noisy.
//
//   node bench/streams.mjs [--rounds 3]
//
// Run npm run build first.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { startBench } from './stack.mjs';

const ROOT = dirname(fileURLToPath(import.meta.url));
const LOOK_EVERY_MS = 200;
/** A stream lasts `chunks` times `intervalMs`. That is longer than it takes to open all of them. */
const LOADS = [
  { streams: 600, chunks: 100, intervalMs: 100, openMs: 6_000, warmUps: 1 },
  { streams: 5_000, chunks: 25, intervalMs: 2_000, openMs: 25_000, warmUps: 0, maxRounds: 1 },
];
const run = promisify(execFile);
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' } } });
const children = [];
const bench = await startBench({ gateway: { MAX_REQUESTS_IN_FLIGHT: '20000' } });

async function startUpstream({ chunks, intervalMs }) {
  const args = [join(ROOT, 'streams/upstream.mjs'), String(chunks), String(intervalMs)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [port] = await once(child.stdout, 'data');
  return `http://127.0.0.1:${String(port).trim()}/v1`;
}

const residentMb = (pid) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;

async function measure(load, url, key) {
  const pid = bench.stack.pid('gateway');
  let mostMb = 0;
  const look = setInterval(() => {
    mostMb = Math.max(mostMb, residentMb(pid));
  }, LOOK_EVERY_MS);
  try {
    const options = JSON.stringify({ url, key, ...load });
    const { stdout } = await run(process.execPath, [join(ROOT, 'streams/client.mjs'), options]);
    return { ...JSON.parse(stdout), mostMb };
  } finally {
    clearInterval(look);
  }
}

function report(name, rounds) {
  const median = (field) =>
    rounds.map((round) => round[field]).sort((a, b) => a - b)[Math.floor(rounds.length / 2)];
  const ms = (field) => `${median(field).toFixed(1)} ms`;
  const truncated = rounds.reduce((sum, round) => sum + round.truncated, 0);
  process.stdout.write(
    `  ${name.padEnd(10)} first chunk p50 ${ms('firstP50Ms')}, p99 ${ms('firstP99Ms')}; later ones p50 ${ms('delayP50Ms')}, ` +
      `p99 ${ms('delayP99Ms')}, slowest ${ms('delayMaxMs')}; ${truncated} incomplete\n`,
  );
}

try {
  for (const load of LOADS) {
    const model = await startUpstream(load);
    const org = await bench.createOrg(`Bench ${load.streams}`);
    const key = await bench.createKey(org);
    await bench.publish(org, model);
    await bench.raise(key);
    await bench.running(key.key);
    const [direct, through] = [[], []];
    const { warmUps, maxRounds = Number(values.rounds) } = load;
    for (let round = 0; round < warmUps + Math.min(maxRounds, Number(values.rounds)); round++) {
      const rounds = [
        await measure(load, model, key.key),
        await measure(load, bench.stack.info.gateway, key.key),
      ];
      if (round < warmUps) continue;
      direct.push(rounds[0]);
      through.push(rounds[1]);
    }
    process.stdout.write(`\n${load.streams} streams, a chunk every ${load.intervalMs} ms each\n`);
    report('the model', direct);
    report('Tidegate', through);
    const mostMb = Math.max(...through.map((round) => round.mostMb));
    process.stdout.write(`  the gateway had at most ${Math.round(mostMb)} MB resident\n`);
  }
} finally {
  for (const child of children) child.kill('SIGKILL');
  await bench.stop();
}
