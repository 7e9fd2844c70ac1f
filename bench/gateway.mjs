// What the gateway costs, everything on, beside an Express relay that does nothing else and beside the stand-in itself.
// Rounds are interleaved and medians reported, for machines are noisy. node bench/gateway.mjs [--rounds 3] [--seconds 5]
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { freePort } from '@tidegate/testing';
import { startBench } from './stack.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const TICKS_PER_S = 100;
const run = promisify(execFile);
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '5' } },
});
const seconds = Number(values.seconds);

/** CPU seconds a process has used. */
function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
}

async function start(script, ...args) {
  const child = spawn(process.execPath, [join(ROOT, script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { child, pid: child.pid ?? 0, line: String(line) };
}

const bench = await startBench({ gateway: { MAX_REQUESTS_IN_FLIGHT: '20000' } });
const { stack } = bench;
const standinPort = await freePort();
const standin = await start(
  'packages/standin/dist/main.js',
  ...['--port', String(standinPort), '--name', 'tide', '--context', '100000'],
);
const peerPort = await freePort();
const peer = await start('bench/peers/express.mjs', String(peerPort), `http://127.0.0.1:${standinPort}`);

try {
  const org = await bench.createOrg();
  const made = await bench.createKey(org);
  const { key } = made;
  await bench.publish(org, `http://127.0.0.1:${standinPort}/v1`);
  await bench.raise(made);

  const targets = [
    { name: 'stand-in itself', url: `http://127.0.0.1:${standinPort}/v1`, pid: standin.pid },
    { name: 'Express relay', url: `http://127.0.0.1:${peerPort}/v1`, pid: peer.pid },
    { name: 'Tidegate', url: stack.info.gateway, pid: stack.pid('gateway') },
  ];
  const loads = [
    { name: 'whole answers, 32 connections', connections: 32, content: 'How deep is the sea? [[tokens=30]]' },
    { name: 'whole answers, 1 connection', connections: 1, content: 'How deep is the sea? [[tokens=30]]' },
    {
      name: 'streams of 1,000 chunks, 16 connections',
      connections: 16,
      stream: true,
      content: '[[tokens=1000]]',
    },
    {
      name: 'open loop, 1,000 requests/s',
      connections: 128,
      ratePerS: 1000,
      content: 'How deep is the sea? [[tokens=30]]',
    },
  ];
  for (const load of loads) {
    const results = new Map(targets.map(({ name }) => [name, /** @type {any[]} */ ([])]));
    for (let round = 0; round <= Number(values.rounds); round++) {
      for (const target of targets) {
        const before = cpuSeconds(target.pid);
        const { stdout } = await run(process.execPath, [
          join(ROOT, 'bench/load.mjs'),
          JSON.stringify({ ...load, url: target.url, key, seconds: round === 0 ? 2 : seconds }),
        ]);
        const result = JSON.parse(stdout);
        const cpuS = cpuSeconds(target.pid) - before;
        // The first round warms up.
        if (round > 0)
          results.get(target.name)?.push({
            ...result,
            perCore: (result.perS * seconds) / cpuS,
            chunksPerCore: (result.chunksPerS * seconds) / cpuS,
          });
      }
    }
    process.stdout.write(`\n${load.name}\n`);
    for (const { name } of targets) report(name, results.get(name) ?? [], load);
  }
} finally {
  standin.child.kill();
  peer.child.kill();
  await bench.stop();
}

function report(name, rounds, load) {
  const median = (field) =>
    rounds.map((round) => round[field]).sort((a, b) => a - b)[Math.floor(rounds.length / 2)];
  const rate = load.stream
    ? `${Math.round(median('chunksPerS'))} chunks/s, ${Math.round(median('chunksPerCore'))} a core`
    : `${Math.round(median('perS'))} requests/s, ${Math.round(median('perCore'))} a core`;
  const failures = rounds.reduce((sum, round) => sum + round.failures, 0);
  process.stdout.write(
    `  ${name.padEnd(16)} ${rate}, p50 ${median('p50Ms').toFixed(2)} ms, p99 ${median('p99Ms').toFixed(2)} ms, ${failures} failed\n`,
  );
}
