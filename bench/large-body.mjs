// Measures what bodies of 20 MiB do to other callers' streams: how long chunks take from the model
// to the client, and how late the gateway's event loop is, with two such bodies at a time and
// without. Interleaves rounds, because machines are noisy.
//
//   node bench/large-body.mjs [--rounds 3] [--seconds 4] [--streams 32]
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { freePort } from '@tidegate/testing';
import { startBench } from './stack.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const LIMIT_MS = 50;
const CHUNK_INTERVAL_MS = 10;
const CONTEXT_TOKENS = 10_000_000;
const NONE = 'no large bodies';
const KINDS = [
  ...[NONE, 'one string', 'not ASCII', 'escapes', 'nested'],
  ...['text parts', 'images', 'no size given'],
];
const run = promisify(execFile);
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    streams: { type: 'string', default: '32' },
  },
});
const children = [];
const probePort = await freePort();
const bench = await startBench({
  gateway: {
    NODE_OPTIONS: `--max-semi-space-size=32 --import=${join(ROOT, 'bench/large-body/probe.mjs')}`,
    BENCH_PROBE_PORT: String(probePort),
  },
});
const { stack } = bench;

function start(script, ...args) {
  const child = spawn(process.execPath, [join(ROOT, 'bench/large-body', script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return child;
}

async function startUpstream() {
  const child = start('upstream.mjs', String(CHUNK_INTERVAL_MS));
  const [port] = await once(child.stdout, 'data');
  return `http://127.0.0.1:${String(port).trim()}/v1`;
}

/**
 * Creates an organization with a text model to stream from and a vision model to send large bodies
 * to. Returns its key.
 */
async function setUp() {
  const org = await bench.createOrg();
  for (const [name, kind] of Object.entries({ tide: 'text', eyes: 'vision' }))
    await bench.publish(org, await startUpstream(), { name, kind, contextTokens: CONTEXT_TOKENS });
  const { key } = await bench.createKey(org);
  await bench.running(key, 'tide');
  await bench.running(key, 'eyes');
  return key;
}

/** The state of the gateway's event loop since the last call. */
const probe = async () => (await fetch(`http://127.0.0.1:${probePort}`)).json();

async function measure(kind, key) {
  const target = { url: stack.info.gateway, key };
  const sender = kind === NONE ? null : start('bodies.mjs', JSON.stringify({ ...target, kind }));
  const statuses = [];
  if (sender) {
    sender.stdout.on('data', (lines) => statuses.push(...String(lines).trim().split('\n')));
    await once(sender.stdout, 'data');
    statuses.length = 0;
  }
  await probe();
  const load = { ...target, streams: Number(values.streams), seconds: Number(values.seconds) };
  const { stdout } = await run(process.execPath, [
    join(ROOT, 'bench/large-body/streams.mjs'),
    JSON.stringify(load),
  ]);
  const result = { ...JSON.parse(stdout), ...(await probe()), bodies: statuses.length };
  sender?.kill('SIGKILL');
  return { ...result, statuses: new Set(statuses) };
}

function report(kind, rounds) {
  const worst = (field) => Math.max(...rounds.map((round) => round[field]));
  const sorted = rounds.map(({ maxMs }) => maxMs).sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  const sum = (field) => rounds.reduce((total, round) => total + round[field], 0);
  const statuses = [...new Set(rounds.flatMap(({ statuses: seen }) => [...seen]))].join(', ');
  const ms = (value) => value.toFixed(1).padStart(6);
  process.stdout.write(
    `${kind.padEnd(16)} chunk p99 ${ms(worst('p99Ms'))} ms, slowest ${ms(median)} (median of rounds) ${ms(sorted.at(-1))} (worst); ` +
      `loop at most ${ms(worst('lateMs'))} ms late, ${ms(worst('busyMs'))} of it busy, GC ${ms(worst('gcMs'))}; ${sum('chunks')} chunks, ${sum('bodies')} bodies${statuses && ` (${statuses})`}\n`,
  );
  return { median, busy: worst('busyMs') };
}

try {
  const key = await setUp();
  const results = new Map(KINDS.map((kind) => [kind, []]));
  // The first round is the warm-up.
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const kind of KINDS) {
      const result = await measure(kind, key);
      if (round > 0) results.get(kind).push(result);
    }
  }
  const [quiet, ...busy] = KINDS.map((kind) => report(kind, results.get(kind)));
  const delay = Math.max(...busy.map(({ median }) => median)) - quiet.median;
  process.stdout.write(
    `A body of 20 MiB delays a stream's chunk by ${delay.toFixed(1)} ms (limit ${LIMIT_MS}).\n`,
  );
  process.exitCode = delay > LIMIT_MS ? 1 : 0;
} finally {
  for (const child of children) child.kill('SIGKILL');
  await bench.stop();
}
