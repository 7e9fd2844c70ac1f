// Measures what one key's refused bodies do to another organization: the p99 of its requests while
// the key sends the worst bodies of a size and shape, against the p99 while it sends as many tiny
// ones. Also whether requests of the other organization failed, and whether the gateway lost its
// session with the limiter.
//
//   node bench/flood.mjs [--shape nested,escapes] [--kib 8,31,240,2000] [--seconds 2]
//     [--rounds 1] [--connections 8]
//
// Without --shape it measures all, which takes about seven minutes. A p99 of so few requests
// varies, so a kind of body above the limit is measured twice more, and the median counts. Run npm
// run build first.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { startStandin } from '@tidegate/standin';
import { SHAPES } from './flood/shapes.mjs';
import { startBench } from './stack.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const LIMIT = 2;
/** Of the other organization's requests: few enough to leave a core for the flood. */
const OTHERS_PER_S = 200;
const MORE_ROUNDS = 2;
const TINY = { shape: 'tiny', bytes: 100 };
const SESSION_LOST = /limiter session is down/g;
const run = promisify(execFile);
const { values } = parseArgs({
  options: {
    shape: { type: 'string', default: Object.keys(SHAPES).slice(1).join() },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '1' },
    connections: { type: 'string', default: '8' },
    kib: { type: 'string', default: '8,31,240,2000' },
  },
});
const rounds = Number(values.rounds);
const connections = Number(values.connections);
const seconds = Number(values.seconds);
const kinds = values.shape
  .split(',')
  .flatMap((shape) => values.kib.split(',').map((kib) => ({ shape, bytes: Number(kib) * 1024 })));
for (const { shape } of kinds) if (!SHAPES[shape]) throw new Error(`no shape ${shape}`);
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
async function measure({ shape, bytes, ratePerS }, { flooding, other }) {
  const url = bench.stack.info.gateway;
  const flood = JSON.stringify({ url, key: flooding, shape, bytes, connections, ratePerS });
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
    connections: 100,
    ratePerS: OTHERS_PER_S,
    seconds,
    content: 'Hi',
  };
  const { stdout } = await run(process.execPath, [join(HERE, 'load.mjs'), JSON.stringify(load)]);
  sender.kill('SIGKILL');
  await once(sender, 'close');
  const { p99Ms, failures } = JSON.parse(stdout);
  return { p99Ms, failures, refused };
}

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** The worst bodies, then as many tiny ones in the same time. */
async function measureBoth(kind, keys) {
  const worst = await measure(kind, keys);
  const tiny = await measure({ ...TINY, ratePerS: worst.refused / seconds }, keys);
  return { worst, tiny };
}

async function measureRounds(kind, keys) {
  const results = [];
  const measureOn = async (count) => {
    for (let round = 0; round < count; round++) results.push(await measureBoth(kind, keys));
  };
  await measureOn(rounds);
  if (ratioOf(results) > LIMIT) await measureOn(MORE_ROUNDS);
  return results;
}

const ratioOf = (results) => median(results.map(({ worst, tiny }) => worst.p99Ms / tiny.p99Ms));

function report({ shape, bytes }, results) {
  const ratio = ratioOf(results);
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
  await measure(TINY, keys);
  const reports = [];
  for (const kind of kinds) reports.push(report(kind, await measureRounds(kind, keys)));
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
