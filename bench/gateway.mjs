// Measures what a request costs with every feature on, next to relays that have none of them.
// Interleaves rounds and reports medians, because machines are noisy. CPU time per process is what
// other work on the machine disturbs least.
//
//   node bench/gateway.mjs [--quick] [--rounds 3] [--seconds 5] [--json FILE]
//
// Run npm run build first.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { launch } from './gateway/launch.mjs';
import { measure } from './gateway/measure.mjs';
import { nginxModel } from './gateway/nginx.mjs';
import { startPeers } from './gateway/peers.mjs';
import { summary, table } from './gateway/report.mjs';
import { startBench } from './stack.mjs';

const MODEL = join(dirname(fileURLToPath(import.meta.url)), 'gateway/model.mjs');
const WARM_UP_S = 4;
const PROCESSES = ['gateway', 'limiter', 'redis', 'metering', 'postgres'];
const LOADS = [
  { name: 'whole answers, 32 connections', connections: 32, wrk: true, quick: true },
  { name: 'whole answers, 1 connection', connections: 1, wrk: true, quick: true },
  { name: 'open loop, 1,000 requests/s', connections: 128, ratePerS: 1_000 },
  { name: 'streams of 1,000 chunks, 16 connections', connections: 16, stream: true, quick: true },
];
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    json: { type: 'string' },
  },
});
const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
const seconds = Number(values.seconds ?? (values.quick ? 3 : 5));

/** From the ends of requests to their rows in Postgres, over all loads. */
async function meteringLag() {
  const { metrics } = bench.stack.info.services.find(({ name }) => name === 'metering');
  const text = await (await fetch(metrics)).text();
  const buckets = [...text.matchAll(/^tidegate_metering_lag_seconds_bucket\{.*le="([^"]+)".*\} (\d+)$/gm)];
  const all = Number(buckets.at(-1)?.[2]);
  const within = (share) => buckets.find(([, , count]) => Number(count) >= all * share)?.[1];
  return `Metering wrote half of ${all.toLocaleString('en')} requests within ${within(0.5)} s of their end, and 99 % within ${within(0.99)} s.`;
}

/**
 * Everything that is measured with one model. Processes that this starts are added to `started`.
 */
async function targetsOf(name, upstream) {
  const org = await bench.createOrg(name);
  const key = await bench.createKey(org);
  await bench.publish(org, `${upstream}/v1`);
  await bench.raise(key);
  await bench.running(key.key);
  const peers = await startPeers(upstream, values.quick ? ['Express relay'] : undefined);
  started.push(...peers);
  return [
    ...peers.map(({ pid, ...peer }) => ({ ...peer, processes: [{ name: 'relay', pid: () => pid }] })),
    {
      name: 'Tidegate',
      url: bench.stack.info.gateway,
      headers: { authorization: `Bearer ${key.key}` },
      processes: PROCESSES.map((name) => ({ name, pid: () => bench.stack.pid(name) })),
    },
  ];
}

const bench = await startBench({ gateway: { MAX_REQUESTS_IN_FLIGHT: '20000' } });
const started = [];
try {
  const nginx = await nginxModel();
  started.push(nginx);
  const model = await launch(process.execPath, [MODEL]);
  started.push(model);
  const targetsOfWhole = await targetsOf('Whole answers', nginx.url);
  const targetsOfStreams = await targetsOf('Streams', `http://127.0.0.1:${model.line}`);
  const measured = [];
  for (const load of LOADS.filter(({ quick }) => quick || !values.quick)) {
    const targets = load.stream ? targetsOfStreams : targetsOfWhole;
    const results = targets.map(({ name }) => ({ name, rounds: [] }));
    for (let round = 0; round <= rounds; round++)
      for (const [i, target] of targets.entries()) {
        const { connections, ratePerS, stream, wrk } = load;
        const { url, headers, processes } = target;
        const forSeconds = round === 0 ? WARM_UP_S : seconds;
        const options = {
          connections,
          ratePerS,
          stream,
          wrk,
          seconds: forSeconds,
          content: 'How deep is the sea?',
        };
        const result = await measure({ ...options, urls: [url], headers }, processes);
        if (round > 0) results[i].rounds.push(result);
      }
    measured.push({ load: load.name, streamed: load.stream === true, targets: results.map(summary) });
    process.stdout.write(`\n${load.name}\n${table(measured.at(-1))}\n`);
    if (values.json) writeFileSync(values.json, JSON.stringify({ rounds, seconds, measured }, null, 2));
  }
  process.stdout.write(`\n${await meteringLag()}\n`);
} finally {
  for (const process of started) process.stop();
  await bench.stop();
}
