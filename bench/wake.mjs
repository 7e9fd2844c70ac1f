// Has many callers wait over two gateways for a model that is asleep. Measures how many starts that
// causes, how long after it is ready all of them are forwarded, in which order, and when callers of
// a model that never starts are told so. First with gateways that have just started, then with ones
// that have served another model for a while, so that V8 has optimized what they run.
//
//   node bench/wake.mjs [--waiters 500]
//
// Run npm run build first.
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { launch } from './gateway/launch.mjs';
import { startBench } from './stack.mjs';

const ROOT = dirname(fileURLToPath(import.meta.url));
const START_MS = 8_000;
/** Between two arrivals, so that their order is beyond doubt. */
const EVERY_MS = 10;
const LATE_WAITERS = 20;
const SERVE_S = 10;
const SERVE_CONNECTIONS = 32;
const { values } = parseArgs({ options: { waiters: { type: 'string', default: '500' } } });
const waiters = Number(values.waiters);
const dir = mkdtempSync(join(tmpdir(), 'tidegate-wake-'));
// Models may run as another user.
chmodSync(dir, 0o777);
const served = await launch(process.execPath, [join(ROOT, 'gateway/model.mjs')]);
const bench = await startBench({ gateway: { MAX_REQUESTS_IN_FLIGHT: '20000' } }, { gateway: 2 });
const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });

function call(gateway, key, model, text) {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sent = request(`${gateway}/chat/completions`, { method: 'POST', agent, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve({ status: answer.statusCode, ms: performance.now() - startedMs }));
    });
    sent.on('error', reject);
    sent.end(JSON.stringify({ model, messages: [{ role: 'user', content: text }] }));
  });
}

const lines = (file) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** How many arrived before one that had come to the same gateway earlier. */
function outOfOrder(arrivals, gateway) {
  const numbers = arrivals
    .map(({ text }) => text.split(':').map(Number))
    .filter(([at]) => at === gateway)
    .map(([, number]) => number);
  return numbers.filter((number, i) => i > 0 && number < numbers[i - 1]).length;
}

function publish(org, name, startMs) {
  const file = join(dir, name);
  return bench.publish(org, undefined, {
    name,
    mode: 'wake_on_request',
    urls: undefined,
    healthPath: '/',
    startTimeoutS: 600,
    command: `exec "${process.execPath}" "${join(ROOT, 'wake/model.mjs')}" "${file}" ${startMs}`,
  });
}

/** Has all gateways serve calls to a model that runs. Resolves to the number of calls. */
async function serve(org, key) {
  await bench.publish(org, `http://127.0.0.1:${served.line}/v1`);
  await bench.running(key);
  const load = {
    urls: bench.stack.info.gateways,
    headers: { authorization: `Bearer ${key}` },
    connections: SERVE_CONNECTIONS,
    seconds: SERVE_S,
    content: 'Hi',
  };
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(ROOT, 'load.mjs'),
    JSON.stringify(load),
  ]);
  return JSON.parse(stdout).requests;
}

/** Has all callers wait for one model, and tells how they fared. */
async function wakeForMany(key, model, what) {
  const { gateways } = bench.stack.info;
  const calls = [];
  for (let i = 0; i < waiters; i++) {
    const at = i % gateways.length;
    calls.push(call(gateways[at], key, model, `${at}:${i}`));
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  const answers = await Promise.all(calls);
  const noted = lines(join(dir, model));
  const starts = noted.filter(({ start }) => start).length;
  const { readyMs, port } = noted.find((line) => line.readyMs);
  const arrivals = await (await fetch(`http://127.0.0.1:${port}/arrivals`)).json();
  const { conditionAt } = await bench.db.model.findFirstOrThrow({ where: { name: model } });
  const runningMs = conditionAt.getTime();
  const afterMs = arrivals.map(({ atMs }) => atMs - runningMs).sort((a, b) => a - b);
  const wrong = gateways.map((_, at) => outOfOrder(arrivals, at));
  const answered = answers.filter(({ status }) => status === 200).length;
  process.stdout.write(
    `  ${waiters} waiters over ${gateways.length} gateways, ${what}: ${starts} start, ${answered} answered; ` +
      `running ${(runningMs - readyMs).toFixed(0)} ms after the model listens; ` +
      `forwarded ${afterMs[0].toFixed(0)} to ${afterMs.at(-1).toFixed(0)} ms after that; ` +
      `out of order at each gateway: ${wrong.join(', ')}\n`,
  );
}

try {
  const org = await bench.createOrg();
  const key = await bench.createKey(org);
  await publish(org, 'never', 600_000);
  for (const name of ['first', 'second', 'third']) await publish(org, name, START_MS);
  await bench.raise(key);
  await wakeForMany(key.key, 'first', 'gateways that have just started');
  const requests = await serve(org, key.key);
  await wakeForMany(key.key, 'second', `after ${requests} calls of another model`);
  await wakeForMany(key.key, 'third', 'once more');
  const { gateways } = bench.stack.info;
  const late = await Promise.all(
    Array.from({ length: LATE_WAITERS }, (_, i) =>
      call(gateways[i % gateways.length], key.key, 'never', `0:${i}`),
    ),
  );
  const times = late.map(({ ms }) => ms / 1_000).sort((a, b) => a - b);
  const statuses = [...new Set(late.map(({ status }) => status))].join(', ');
  process.stdout.write(
    `  a model that never starts: ${LATE_WAITERS} callers get ${statuses} after ${times[0].toFixed(2)} to ` +
      `${times.at(-1).toFixed(2)} s\n`,
  );
} finally {
  agent.destroy();
  served.stop();
  await bench.stop();
  rmSync(dir, { recursive: true, force: true });
}
