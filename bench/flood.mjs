// Measures what one key's refused bodies do to another organization: the p99 of its requests while
// the key sends the worst bodies of a size and shape, against the p99 while it sends as many tiny
// ones. Also whether requests of the other organization failed, and whether the gateway lost its
// session with the limiter.
//
//   node bench/flood.mjs [--shape nested,escapes] [--kib 8,31,240,2000] [--seconds 0.5]
//     [--rounds 3] [--more 6,18] [--connections 8] [--options=--v8-pool-size=1]
//
// Worst and tiny bodies take turns, a round each, and the medians of the rounds' p99s are compared.
// A kind of body that comes near the limit gets more rounds before it is judged by all of them: a
// round's p99 is that of few requests, and may differ by half from the next one's. Each caller is
// one process for all rounds, because a new process is slow at first. All shapes take over ten
// minutes. --options starts the gateway with other options of Node. Run npm run build first.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startStandin } from '@tidegate/standin';
import { SHAPES } from './flood/shapes.mjs';
import { startBench } from './stack.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const LIMIT = 2;
/** A kind of body with a higher ratio than this gets more rounds. */
const NEAR = 1.5;
/** The other organization's requests: few enough to leave a core for the flood. */
const OTHERS_PER_S = 300;
const TINY = { shape: 'tiny', bytes: 100 };
const SIZES_KIB = [8, 31, 240, 2_000];
/** Few are in flight and each takes long, so some shapes are enough, in longer rounds. */
const LARGEST_KIB = 20_000;
const LARGEST_SHAPES = ['numbers', 'long string', 'unknown model'];
const LONGER = 3;
/** Until a flood has begun in earnest. */
const BEGIN_MS = 100;
const SESSION_LOST = /limiter session is down/g;
const { values } = parseArgs({
  options: {
    shape: { type: 'string', default: Object.keys(SHAPES).slice(1).join() },
    kib: { type: 'string' },
    seconds: { type: 'string', default: '0.5' },
    rounds: { type: 'string', default: '3' },
    more: { type: 'string', default: '6,18' },
    connections: { type: 'string', default: '8' },
    options: { type: 'string' },
  },
});

function sizesOf(shape) {
  if (values.kib) return values.kib.split(',').map(Number);
  return LARGEST_SHAPES.includes(shape) ? [...SIZES_KIB, LARGEST_KIB] : SIZES_KIB;
}

const kinds = values.shape
  .split(',')
  .flatMap((shape) => sizesOf(shape).map((kib) => ({ shape, bytes: kib * 1024 })));
for (const { shape } of kinds) if (!SHAPES[shape]) throw new Error(`unknown shape: ${shape}`);
const bench = await startBench(values.options ? { gateway: { NODE_OPTIONS: values.options } } : {});
const standin = await startStandin({ names: ['tide'] });
const children = [];

/**
 * Starts a process with a new organization's key. `tell` sends it a message; `ask` also awaits its
 * answer.
 */
async function startCaller(file, org, connections) {
  const slug = await bench.createOrg(org);
  await bench.publish(slug, standin.url);
  const key = await bench.createKey(slug);
  await bench.running(key.key);
  await bench.raise(key);
  const args = [bench.stack.info.gateway, key.key, String(connections)];
  const child = fork(join(HERE, file), args, { detached: true });
  children.push(child);
  await once(child, 'message');
  return {
    tell: (message) => child.send(message),
    ask: async (message) => {
      child.send(message);
      const [answer] = await once(child, 'message');
      return answer;
    },
  };
}

/** The other organization's p99 in ms and failures, and the flood's answers in a second. */
async function measure(body, { seconds, ratePerS }, { flooding, other }) {
  const startedMs = performance.now();
  flooding.tell({ body, ratePerS });
  await new Promise((resolve) => setTimeout(resolve, BEGIN_MS));
  const measured = await other.ask({ seconds, ratePerS: OTHERS_PER_S });
  const { statuses } = await flooding.ask('stop');
  const tookS = (performance.now() - startedMs) / 1000;
  const answered = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  return { ...measured, perS: answered / tookS, statuses };
}

const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
};

/** Rounds of the worst bodies and of as many tiny ones. Which come first alternates. */
async function measureKind(kind, callers) {
  const seconds = Number(values.seconds) * (kind.bytes > LARGEST_KIB * 512 ? LONGER : 1);
  const worst = [];
  const tiny = [];
  const measureTiny = async () =>
    tiny.push(await measure(TINY, { seconds, ratePerS: worst.at(-1).perS }, callers));
  const measureOn = async (rounds) => {
    for (let round = 0; round < rounds; round++) {
      const tinyFirst = worst.length % 2 === 1;
      if (tinyFirst) await measureTiny();
      worst.push(await measure(kind, { seconds }, callers));
      if (!tinyFirst) await measureTiny();
    }
  };
  await measureOn(Number(values.rounds));
  for (const more of values.more.split(',').map(Number))
    if (compare(worst, tiny).ratio > NEAR) await measureOn(more);
  return { kind, worst, tiny, ...compare(worst, tiny) };
}

function compare(worst, tiny) {
  const p99Of = (rounds) => median(rounds.map(({ p99Ms }) => p99Ms));
  return {
    p99Ms: p99Of(worst),
    tinyP99Ms: p99Of(tiny),
    ratio: p99Of(worst) / p99Of(tiny),
    failures: [...worst, ...tiny].reduce((sum, { failures }) => sum + failures, 0),
  };
}

function show({ kind: { shape, bytes }, worst, p99Ms, tinyP99Ms, ratio, failures }) {
  const ms = (number) => `${number.toFixed(1).padStart(5)} ms`;
  const statuses = new Set(worst.flatMap((round) => Object.keys(round.statuses)));
  process.stdout.write(
    `${String(bytes / 1024).padStart(5)} KiB ${shape.padEnd(16)} p99 ${ms(p99Ms)} beside ${median(worst.map(({ perS }) => perS)).toFixed(0)} bodies a second (${[...statuses].join()}), ` +
      `${ms(tinyP99Ms)} beside tiny ones: ${ratio.toFixed(2)} times, ${worst.length} rounds; ${failures} failed\n`,
  );
}

try {
  const callers = {
    flooding: await startCaller('flood/bodies.mjs', 'Flooding', values.connections),
    other: await startCaller('flood/other.mjs', 'Other', 100),
  };
  // The gateway is slow at first, too.
  await measure(TINY, { seconds: 3, ratePerS: 300 }, callers);
  const results = [];
  for (const kind of kinds) {
    results.push(await measureKind(kind, callers));
    show(results.at(-1));
  }
  const worst = Math.max(...results.map(({ ratio }) => ratio));
  const failures = results.reduce((sum, { failures: count }) => sum + count, 0);
  const lost = (await bench.logOf('gateway')).match(SESSION_LOST)?.length ?? 0;
  process.stdout.write(
    `One key's bodies make another organization's p99 at most ${worst.toFixed(2)} times that under tiny ones (limit ${LIMIT}); ${failures} of its requests failed, ${lost} sessions were lost.\n`,
  );
  process.exitCode = worst > LIMIT || failures > 0 || lost > 0 ? 1 : 0;
} finally {
  for (const child of children) child.kill('SIGKILL');
  await standin.close();
  await bench.stop();
}
