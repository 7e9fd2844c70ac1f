// Measures what one key's refused bodies do to another organization: the p99 of its requests while
// the key sends the worst bodies of a size and shape, against the p99 beside as many connections
// that send tiny ones. Also whether requests of the other organization failed, and whether the
// gateway lost its session with the limiter.
//
//   node bench/flood.mjs [--seconds 2] [--rounds 3] [--connections 8] [--kib 8,31,33,240]
//
// Run npm run build first.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { startStandin } from '@tidegate/standin';
import { startBench } from './stack.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const LIMIT = 2;
const SHAPES = ['unknown fields', 'null members', 'nested', 'empty objects', 'text parts', 'escapes'];
const OTHERS_CONNECTIONS = 4;
const SESSION_LOST = /limiter session is down/g;
const run = promisify(execFile);
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '8' },
    kib: { type: 'string', default: '8,31,33,240' },
  },
});
const rounds = Number(values.rounds);
const connections = Number(values.connections);
const kinds = values.kib
  .split(',')
  .flatMap((kib) => SHAPES.map((shape) => ({ shape, bytes: Number(kib) * 1024 })));
const bench = await startBench();
const standin = await startStandin({ names: ['tide'] });
let sender;

async function setUp(name) {
  const org = await bench.createOrg(name);
  await bench.publish(org, standin.url);
  const key = await bench.createKey(org);
  await bench.running(key.key);
  await bench.raise(key);
  return key.key;
}

/** The other organization's p99 in ms and failures, and the bodies that were refused meanwhile. */
async function measure({ shape, bytes }, { flooding, other }) {
  const url = bench.stack.info.gateway;
  const flood = JSON.stringify({ url, key: flooding, shape, bytes, connections });
  let refused = 0;
  sender = spawn(process.execPath, [join(HERE, 'flood/bodies.mjs'), flood], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(sender.stdout, 'data');
  sender.stdout.on('data', (lines) => {
    refused += String(lines).trim().split('\n').length;
  });
  const load = {
    urls: [url],
    headers: { authorization: `Bearer ${other}` },
    connections: OTHERS_CONNECTIONS,
    seconds: Number(values.seconds),
    content: 'Hi',
  };
  const { stdout } = await run(process.execPath, [join(HERE, 'load.mjs'), JSON.stringify(load)]);
  sender.kill('SIGKILL');
  await once(sender, 'close');
  const { p99Ms, failures } = JSON.parse(stdout);
  return { p99Ms, failures, refused };
}

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

function report({ shape, bytes }, results) {
  const ratio = median(results.map(({ worst, tiny }) => worst.p99Ms / tiny.p99Ms));
  const of = (field, kind) => median(results.map((result) => result[kind][field]));
  const ms = (kind) => of('p99Ms', kind).toFixed(1).padStart(6);
  const failures = results.reduce((sum, { worst, tiny }) => sum + worst.failures + tiny.failures, 0);
  process.stdout.write(
    `${String(bytes / 1024).padStart(4)} KiB ${shape.padEnd(15)} p99 ${ms('worst')} ms beside ${of('refused', 'worst')} bodies, ` +
      `${ms('tiny')} ms beside ${of('refused', 'tiny')} tiny ones: ${ratio.toFixed(2)} times; ${failures} failed\n`,
  );
  return { ratio, failures };
}

try {
  const keys = { flooding: await setUp('Flooding'), other: await setUp('Other') };
  const tiny = { shape: 'tiny', bytes: 100 };
  const all = new Map(kinds.map((kind) => [kind, []]));
  await measure(tiny, keys);
  for (let round = 0; round < rounds; round++) {
    for (const kind of kinds)
      all.get(kind).push({ tiny: await measure(tiny, keys), worst: await measure(kind, keys) });
  }
  const reports = [...all].map(([kind, results]) => report(kind, results));
  const worst = Math.max(...reports.map(({ ratio }) => ratio));
  const failures = reports.reduce((sum, { failures: count }) => sum + count, 0);
  const lost = (await bench.logOf('gateway')).match(SESSION_LOST)?.length ?? 0;
  process.stdout.write(
    `One key's bodies make another organization's p99 at most ${worst.toFixed(2)} times that under tiny ones (limit ${LIMIT}); ${failures} of its requests failed, ${lost} sessions were lost.\n`,
  );
  process.exitCode = worst > LIMIT || failures > 0 || lost > 0 ? 1 : 0;
} finally {
  sender?.kill('SIGKILL');
  await standin.close();
  await bench.stop();
}
