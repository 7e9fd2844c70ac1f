// Has many callers wait over two gateways for a model that is asleep. Measures how many starts that
// causes, how long after it is ready all of them are forwarded, and in which order. First with
// gateways that have just started, then with ones that have served another model for a while, so
// that V8 has optimized what they run. Then measures how far apart the same number of callers learn
// that the start of their model has failed, and how long after its own arrival each caller of a
// model that never starts learns that. Says which goals were met, and exits with 1 if one was not.
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
const LATE_EVERY_MS = 250;
/** All are to be forwarded this soon after the model runs. */
const FORWARDED_MS = 100;
/** When callers of a model that does not start in time are to be told so. */
const TIME_OUT_S = [60, 60.5];
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
      answer.on('end', () => {
        const endedMs = performance.now();
        resolve({ status: answer.statusCode, endedMs, ms: endedMs - startedMs });
      });
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

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Has callers arrive one after the other, at the gateways in turn. Resolves to their answers. */
async function callAll({ key, model, count, everyMs }) {
  const { gateways } = bench.stack.info;
  const calls = [];
  for (let i = 0; i < count; i++) {
    const at = i % gateways.length;
    calls.push(call(gateways[at], key, model, `${at}:${i}`));
    await pause(everyMs);
  }
  return Promise.all(calls);
}

const statusesOf = (answers) => [...new Set(answers.map(({ status }) => status))].join(', ');

/** @param command what is run in place of a model */
function publish(org, name, startMs, command) {
  const file = join(dir, name);
  return bench.publish(org, undefined, {
    name,
    mode: 'wake_on_request',
    urls: undefined,
    healthPath: '/',
    startTimeoutS: 600,
    command: command ?? `exec "${process.execPath}" "${join(ROOT, 'wake/model.mjs')}" "${file}" ${startMs}`,
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

/**
 * Has all callers wait for one model, and prints how they fared. Resolves to when the last one was
 * forwarded, and how many were out of order.
 */
async function wakeForMany(key, model, what) {
  const { gateways } = bench.stack.info;
  const answers = await callAll({ key, model, count: waiters, everyMs: EVERY_MS });
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
  return { lastMs: afterMs.at(-1), outOfOrder: wrong.reduce((sum, count) => sum + count, 0) };
}

/** Has all callers wait for a model whose start fails, and prints how far apart they learn that. */
async function failForMany(key, model) {
  const answers = await callAll({ key, model, count: waiters, everyMs: EVERY_MS });
  const ends = answers.map(({ endedMs }) => endedMs).sort((a, b) => a - b);
  process.stdout.write(
    `  a start that fails: ${waiters} waiters get ${statusesOf(answers)} within ` +
      `${(ends.at(-1) - ends[0]).toFixed(0)} ms of one another\n`,
  );
}

/** Resolves to the seconds after which each caller was told, the soonest first. */
async function neverForMany(key, model) {
  const answers = await callAll({ key, model, count: LATE_WAITERS, everyMs: LATE_EVERY_MS });
  const times = answers.map(({ ms }) => ms / 1_000).sort((a, b) => a - b);
  const arriveS = (LATE_WAITERS * LATE_EVERY_MS) / 1_000;
  process.stdout.write(
    `  a model that never starts: ${LATE_WAITERS} callers, who arrive over ${arriveS} s, get ` +
      `${statusesOf(answers)} ${times[0].toFixed(2)} to ${times.at(-1).toFixed(2)} s after their arrival\n`,
  );
  return times;
}

/** @param goals each with what it says and whether it was met */
function printGoals(goals) {
  const told = goals.map(([goal, met]) => `${goal}: ${met ? 'met' : 'missed'}`);
  process.stdout.write(`  goals: ${told.join('; ')}\n`);
  process.exitCode = goals.every(([, met]) => met) ? 0 : 1;
}

try {
  const org = await bench.createOrg();
  const key = await bench.createKey(org);
  await publish(org, 'never', 600_000);
  await publish(org, 'failing', START_MS, `sleep ${START_MS / 1_000}; exit 1`);
  for (const name of ['first', 'second', 'third']) await publish(org, name, START_MS);
  await bench.raise(key);
  const wakes = [await wakeForMany(key.key, 'first', 'gateways that have just started')];
  const requests = await serve(org, key.key);
  wakes.push(await wakeForMany(key.key, 'second', `after ${requests} calls of another model`));
  wakes.push(await wakeForMany(key.key, 'third', 'once more'));
  await failForMany(key.key, 'failing');
  const times = await neverForMany(key.key, 'never');
  const [soonestS, latestS] = TIME_OUT_S;
  printGoals([
    [`all forwarded within ${FORWARDED_MS} ms`, wakes.every(({ lastMs }) => lastMs <= FORWARDED_MS)],
    ['in the order of arrival', wakes.every(({ outOfOrder }) => outOfOrder === 0)],
    [
      `time-outs after ${soonestS.toFixed(1)} to ${latestS} s`,
      times[0] >= soonestS && times.at(-1) <= latestS,
    ],
  ]);
} finally {
  agent.destroy();
  served.stop();
  await bench.stop();
  rmSync(dir, { recursive: true, force: true });
}
