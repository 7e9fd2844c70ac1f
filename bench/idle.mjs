// Measures what each service costs while nobody uses it, as a percentage of a core (Linux), and the
// commands that Redis runs meanwhile. Services still do start-up work in their first minute, so
// this waits for it to end. Then it measures the same for the runner with models whose server is
// gone, once their probes are as rare as they get.
//
//   node bench/idle.mjs [--wait 60] [--seconds 60]
//
// Run npm run build first.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { startBench } from './stack.mjs';

const LIMIT_PERCENT = 0.2;
const DEAD_MODELS = 22;
/** Nothing listens there. */
const DEAD_URL = 'http://127.0.0.1:9/v1';
const FAILED_TIMEOUT_MS = 60_000;
const SERVICES = ['gateway', 'limiter', 'metering', 'runner', 'console'];
const { values } = parseArgs({
  options: { wait: { type: 'string', default: '60' }, seconds: { type: 'string', default: '60' } },
});
const seconds = Number(values.seconds);

/** CPU time so far of all threads of a process, in milliseconds. Finer than the clock's ticks. */
function cpuMs(pid) {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).reduce(
    (sum, task) => sum + Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
    0,
  );
}

const bench = await startBench();

/** Resolves when all have failed. */
async function publishDead() {
  const org = await bench.createOrg();
  for (let i = 0; i < DEAD_MODELS; i++) await bench.publish(org, DEAD_URL, { name: `dead-${i}` });
  const deadline = performance.now() + FAILED_TIMEOUT_MS;
  while ((await bench.db.model.count({ where: { condition: 'failed' } })) < DEAD_MODELS) {
    if (performance.now() > deadline) throw new Error('the models at a dead URL have not failed');
    await pause(500);
  }
}

const redis = new Redis(bench.stack.info.redis);
try {
  const commands = async () => Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1]);
  await pause(Number(values.wait) * 1_000);
  const measure = async () => ({
    commands: await commands(),
    cpus: SERVICES.map((name) => cpuMs(bench.stack.pid(name))),
  });
  const before = await measure();
  await pause(seconds * 1_000);
  const after = await measure();
  const percents = SERVICES.map((_, i) => (after.cpus[i] - before.cpus[i]) / seconds / 10);
  const shares = SERVICES.map((name, i) => `${name} ${(percents[i] ?? 0).toFixed(2)}`).join(', ');
  const aMinute = Math.round(((after.commands - before.commands) * 60) / seconds);
  process.stdout.write(
    `Percent of a core at rest, over ${seconds} s: ${shares} (limit ${LIMIT_PERCENT}). Redis ran ${aMinute} commands a minute.\n`,
  );
  await publishDead();
  await pause(Number(values.wait) * 1_000);
  const beforeDead = cpuMs(bench.stack.pid('runner'));
  await pause(seconds * 1_000);
  const dead = (cpuMs(bench.stack.pid('runner')) - beforeDead) / seconds / 10;
  process.stdout.write(
    `The runner with ${DEAD_MODELS} models whose server is gone, over ${seconds} s: ${dead.toFixed(2)}.\n`,
  );
  process.exitCode = Math.max(...percents) > LIMIT_PERCENT ? 1 : 0;
} finally {
  redis.disconnect();
  await bench.stop();
}
