// Measures whether a request costs the same with more keys, more history and more gateways. Grows
// one stack step by step, and after each step runs the same load and reports the CPU time of a
// request by process. Requests of one organization that come together share work. So it also
// measures as many organizations as connections: what more of them cost beyond that is growth. Two
// gateways are compared with one while each has a fifth of a core, which leaves room for both.
//
//   node bench/growth.mjs [--keys 10000] [--orgs 1000] [--requests 10000000]
//     [--seconds 8] [--rounds 3]
//
// Run npm run build first.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureRequestPartitions } from '@tidegate/db';
import { limitCpu } from './gateway/cpu-share.mjs';
import { launch } from './gateway/launch.mjs';
import { measure } from './gateway/measure.mjs';
import { summary, table } from './gateway/report.mjs';
import { lastDays, seedDay, seedRollups } from './history.mjs';
import { startBench } from './stack.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
/** To each gateway. */
const CONNECTIONS = 32;
const DAYS = 30;
const FEW = 10;
const PANELS = 20;
/**
 * The share of a core. With more, client, model and limiter would not keep up with two gateways.
 */
const SHARE = 0.2;
/** Compiles what a request runs. */
const WARM_UP_S = 6;
/** How many organizations or keys are created at once. */
const AT_ONCE = 8;
const number = (fallback) => ({ type: 'string', default: String(fallback) });
const { values } = parseArgs({
  options: {
    keys: number(10_000),
    orgs: number(1_000),
    requests: number(10_000_000),
    seconds: number(8),
    rounds: number(3),
  },
});
const [keyCount, orgCount, requests] = [values.keys, values.orgs, values.requests].map(Number);

const model = await launch(process.execPath, [join(HERE, 'gateway/model.mjs')]);
const upstream = `http://127.0.0.1:${model.line}/v1`;
const bench = await startBench({ gateway: { MAX_REQUESTS_IN_FLIGHT: '20000' } }, { gateway: 2 });
const processes = ['gateway', 'gateway-2', 'limiter', 'redis', 'metering', 'postgres', 'runner'].map(
  (name) => ({ name: name.replace(/-\d+$/, ''), pid: () => bench.stack.pid(name) }),
);
const [one] = bench.stack.info.gateways;
const steps = [];
let endShares = null;

/** Runs the same load as every other step. Requests use the keys in turn. */
async function step(name, keys, urls = [one]) {
  const keysFile = join(bench.stack.dataDir, 'bench-keys.json');
  writeFileSync(keysFile, JSON.stringify(keys), { mode: 0o600 });
  const connections = CONNECTIONS * urls.length;
  const load = { urls, keysFile, connections, content: 'How deep is the sea?' };
  const rounds = [];
  // The warm-up brings each key into the caches.
  const warmUpS = Math.max(WARM_UP_S, Math.ceil(keys.length / 400));
  await measure({ ...load, seconds: warmUpS }, processes);
  for (let round = 0; round < Number(values.rounds); round++)
    rounds.push(await measure({ ...load, seconds: Number(values.seconds) }, processes));
  steps.push(summary({ name, rounds }));
  process.stderr.write(`${name}: ${steps.at(-1).perS.toFixed(0)} requests/s\n`);
}

/** Calls `make` with 0 to count - 1, a few at a time. */
async function many(count, make) {
  const made = [];
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const i = next++;
      made[i] = await make(i);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return made;
}

/** The median time of the usage panel's query. The first one is the warm-up. */
async function panelMs(org) {
  const tookMs = [];
  for (let i = 0; i <= PANELS; i++) {
    const startedMs = performance.now();
    await bench.showUsage(org);
    if (i > 0) tookMs.push(performance.now() - startedMs);
  }
  return tookMs.sort((a, b) => a - b)[Math.floor(PANELS / 2)];
}

async function orgWithKeys(name, count) {
  const org = await bench.createOrg(name);
  await bench.publish(org, upstream);
  return Promise.all(Array.from({ length: count }, () => bench.createKey(org)));
}

try {
  const few = await orgWithKeys('Few', FEW);
  for (const key of few) await bench.raise(key);
  await bench.running(few[0].key);
  const fewKeys = few.map(({ key }) => key);
  await step(`${FEW} keys`, fewKeys);
  await step(`${FEW} keys, two gateways`, fewKeys, bench.stack.info.gateways);
  // Both gateways have compiled what a request runs. With a fifth of a core that would take long.
  const gateways = ['gateway', 'gateway-2'].map((name) => bench.stack.pid(name));
  endShares = limitCpu(gateways, SHARE);
  if (endShares) {
    await step(`${FEW} keys, a gateway with a fifth of a core`, fewKeys);
    await step(`${FEW} keys, two such gateways`, fewKeys, bench.stack.info.gateways);
    endShares();
    endShares = null;
  } else
    process.stderr.write(
      'skipping the runs with a fifth of a core each: control groups cannot be used here\n',
    );

  const keysEach = Math.ceil(keyCount / orgCount);
  const orgs = await many(orgCount, (i) => orgWithKeys(`Org ${i}`, keysEach));
  await bench.running(orgs.at(-1)[0].key);
  await step(`the same ${FEW} keys beside ${keyCount} others`, fewKeys);
  const alone = orgs.slice(0, CONNECTIONS).map(([first]) => first.key);
  await step(`${alone.length} keys, each of its own organization`, alone);
  // Takes one key of each organization in turn.
  const all = Array.from({ length: keysEach }, (_, k) => orgs.map((keys) => keys[k].key)).flat();
  await step(`${keyCount} keys in ${orgCount} organizations`, all);

  const days = lastDays(DAYS);
  await ensureRequestPartitions(bench.db, days);
  const owner = await bench.db.org.findFirstOrThrow({ where: { name: 'Few' } });
  const volume = { orgId: owner.id, count: Math.ceil(requests / DAYS), keys: 50, models: 20 };
  for (const day of days) await seedDay(bench.db, day, volume);
  await seedRollups(bench.db);
  await step(`${FEW} keys, ${requests.toLocaleString('en')} requests of ${DAYS} days behind them`, fewKeys);
  process.stdout.write(`${table({ streamed: false, targets: steps })}\n`);
  const tookMs = await panelMs(owner.slug);
  process.stdout.write(
    `The usage panel over them takes the server ${tookMs.toFixed(1)} ms (median of ${PANELS}).\n`,
  );
} finally {
  model.stop();
  await bench.stop();
  endShares?.();
}
