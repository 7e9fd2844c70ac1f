// What a request costs, with every feature on, beside relays that have none of them. Rounds are interleaved and medians
// reported, for machines are noisy; CPU time by process is what other work on the machine disturbs least.
//
//   node bench/gateway.mjs [--quick] [--rounds 3] [--seconds 5] [--json FILE]      (after npm run build)
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { cpuUs } from './gateway/cpu.mjs';
import { launch, startPeers } from './gateway/peers.mjs';
import { summary, table } from './gateway/report.mjs';
import { startBench } from './stack.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
/** Postgres and metering work a little later than the requests they work for. */
const SETTLE_MS = 700;
const WARM_UP_S = 2;
const PROCESSES = ['gateway', 'limiter', 'redis', 'metering', 'postgres'];
const LOADS = [
  { name: 'whole answers, 32 connections', connections: 32, quick: true },
  { name: 'whole answers, 1 connection', connections: 1, quick: true },
  { name: 'open loop, 1,000 requests/s', connections: 128, ratePerS: 1_000 },
  { name: 'streams of 1,000 chunks, 16 connections', connections: 16, stream: true, quick: true },
];
const run = promisify(execFile);
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

/** One load on one target, with what each of its processes has used for it. */
async function measure({ connections, ratePerS, stream }, target, forSeconds) {
  const before = target.processes.map(({ pid }) => cpuUs(pid()));
  const options = { connections, ratePerS, stream, seconds: forSeconds, content: 'How deep is the sea?' };
  const { url, headers } = target;
  const { stdout } = await run(process.execPath, [
    join(HERE, 'load.mjs'),
    JSON.stringify({ ...options, url, headers }),
  ]);
  const result = JSON.parse(stdout);
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const cpu = target.processes.map(({ name, pid }, i) => [
    name,
    (cpuUs(pid()) - before[i]) / result.requests,
  ]);
  return { ...result, cpuUs: Object.fromEntries(cpu) };
}

const model = await launch(process.execPath, [join(HERE, 'gateway/model.mjs')]);
const upstream = `http://127.0.0.1:${model.line}`;
const bench = await startBench({ gateway: { MAX_REQUESTS_IN_FLIGHT: '20000' } });
const peers = await startPeers(upstream, values.quick ? ['Express relay'] : undefined);
try {
  const org = await bench.createOrg();
  const key = await bench.createKey(org);
  await bench.publish(org, `${upstream}/v1`);
  await bench.raise(key);
  await bench.running(key.key);
  const targets = [
    ...peers.map(({ pid, ...peer }) => ({ ...peer, processes: [{ name: 'relay', pid: () => pid }] })),
    {
      ...{ name: 'Tidegate', url: bench.stack.info.gateway, headers: { authorization: `Bearer ${key.key}` } },
      processes: PROCESSES.map((name) => ({ name, pid: () => bench.stack.pid(name) })),
    },
  ];
  const measured = [];
  for (const load of LOADS.filter(({ quick }) => quick || !values.quick)) {
    const results = targets.map(({ name }) => ({ name, rounds: [] }));
    for (let round = 0; round <= rounds; round++)
      for (const [i, target] of targets.entries()) {
        const result = await measure(load, target, round === 0 ? WARM_UP_S : seconds);
        if (round > 0) results[i].rounds.push(result);
      }
    measured.push({ load: load.name, streamed: load.stream === true, targets: results.map(summary) });
    process.stdout.write(`\n${load.name}\n${table(measured.at(-1))}\n`);
  }
  if (values.json) writeFileSync(values.json, JSON.stringify({ rounds, seconds, measured }, null, 2));
} finally {
  for (const peer of peers) peer.stop();
  model.stop();
  await bench.stop();
}
