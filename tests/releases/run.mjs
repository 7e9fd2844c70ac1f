// @ts-check
// Runs the services of two releases beside each other: docs/upgrades.md, "Try it".
import { mkdtempSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../support/command.mjs';
import { checkOut, printHead, printRow } from '../support/trial.mjs';
import { Pair } from './pair.mjs';
import * as steps from './steps.mjs';

const ROOT = join(import.meta.dirname, '../..');
const USAGE = `npm run releases -- --from COMMIT [--builds FOLDER]
  --from COMMIT   the previous release
  --builds FOLDER keeps its build there, for the next time`;
const MODE_PASSABLE = 0o711;

/** @type {[name: string, step: (pair: Pair, world: steps.World) => Promise<string>][]} */
const PLAN = [
  ['start', steps.start],
  ['migrations', steps.migrate],
  ['both', steps.join],
  ['one limit', steps.limit],
  ['forward', steps.forward],
  ['back', steps.back],
  ['usage', steps.counted],
  ['forward again', steps.again],
];

/**
 * @param {string} directory of this trial
 * @param {{ from: string, builds: string | undefined }} options
 * @param {AbortSignal} signal
 */
async function main(directory, { from, builds }, signal) {
  // Root's Postgres runs as another user, who must be able to pass through it.
  await chmod(directory, MODE_PASSABLE);
  const commit = await run('git', ['rev-parse', '--verify', `${from}^{commit}`], { cwd: ROOT });
  const checkout = builds ? join(resolve(builds), commit) : join(directory, 'checkout');
  const pair = new Pair({ directory, checkout, models: steps.MODELS, signal });
  const world = { key: '', limited: '', answered: 0 };
  const calledOff = new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(new Error('Cancelled.')), { once: true }),
  );
  const work = async () => {
    printHead();
    await printRow('build', async () => {
      await checkOut(commit, checkout, signal);
      await pair.buildBefore();
      return `${commit.slice(0, 7)}, as its \`npm start\` does`;
    });
    await pair.open();
    for (const [name, step] of PLAN) await printRow(name, () => step(pair, world));
  };
  try {
    await Promise.race([work(), calledOff]);
  } catch (error) {
    process.stderr.write(`\n${error instanceof Error ? error.message : error}\n`);
    if (!signal.aborted) process.stderr.write(`\n${pair.processes.logs()}\n`);
    process.exitCode = 1;
  } finally {
    await pair.close();
  }
}

const { values } = parseArgs({
  options: { from: { type: 'string' }, builds: { type: 'string' }, help: { type: 'boolean' } },
});
if (values.help || !values.from) {
  process.stdout.write(`${USAGE}\n`);
  process.exitCode = values.help ? 0 : 1;
} else {
  const directory = mkdtempSync(join(tmpdir(), 'tidegate-releases-'));
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => controller.abort());
  try {
    await main(directory, { from: values.from, builds: values.builds }, controller.signal);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
  // A step that was cancelled may still be waiting for something.
  process.exit();
}
