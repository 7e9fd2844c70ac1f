// @ts-check
// Runs the containers of docker-compose.yml, for real: docs/operations.md, "Try it all".
import { existsSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkOut, printHead, printRow } from '../support/trial.mjs';
import { getBases } from './bases.mjs';
import { openEngine } from './engine.mjs';
import { Installation } from './installation.mjs';

register('../faults/typescript.mjs', import.meta.url);
const steps = await import('./steps.mjs');

const ROOT = join(import.meta.dirname, '../..');
const PROJECT = 'tidegate-containers';
const USAGE = `npm run containers -- [--from COMMIT] [--host-network] [--keep]
  --from COMMIT  starts with this commit, and upgrades to this checkout under load
  --host-network builds on the network of this machine, as with an engine that is started here
  --keep         keeps the images`;
const SERVICES = ['limiter', 'metering', 'runner', 'gateway', 'console', 'redis', 'postgres'];

/**
 * @typedef {import('./steps.mjs').World} World
 * @typedef {[name: string, step: (here: Installation, world: World) => Promise<string>]} Step
 */

/** @param {string | undefined} from @returns {Step[]} */
const plan = (from) => [
  [from ? `build and start ${from}` : 'build and start', steps.start],
  ['first answer', steps.firstAnswer],
  ...(from ? [/** @type {Step} */ (['upgrade', steps.upgrade(ROOT)])] : []),
  ['images', steps.sizes],
  ['at rest', steps.memory],
  ["the runner's secrets", steps.secretsOfRunner],
  ...SERVICES.map((service) => /** @type {Step} */ ([`kill ${service}`, steps.kill(service)])),
  ['scale', steps.scale],
  ['kill one of two limiters', steps.killOneOfTwo('limiter')],
  ['kill one of two gateways', steps.killOneOfTwo('gateway')],
  ['kill the leading one of two runners', steps.killLeadingRunner],
  ['usage', steps.counted],
  ['doctor', steps.doctor],
];

/**
 * @param {string} directory
 * @param {{ from?: string | undefined, hostNetwork: boolean, keep: boolean }} options
 */
async function main(directory, { from, hostNetwork, keep }) {
  printHead();
  const engine = await openEngine(directory);
  /** @type {Installation | undefined} */
  let here;
  try {
    await printRow('engine', async () => {
      const version = await engine.docker(['version', '--format', 'Docker {{.Server.Version}}']);
      return `${version}, compose ${await engine.docker(['compose', 'version', '--short'])}`;
    });
    await printRow('base images', () => getBases(engine, ROOT, directory));
    const checkout = from ? await checkOut(from, join(directory, 'before')) : ROOT;
    const installation = new Installation(engine, {
      checkout,
      directory,
      project: PROJECT,
      hostNetwork: hostNetwork || engine.own,
    });
    here = installation;
    const world = { key: '', answered: 0 };
    for (const [name, step] of plan(from)) await printRow(name, () => step(installation, world));
  } catch (error) {
    const logs = await here?.compose(['logs', '--no-color', '--tail', '20']).catch(() => '');
    process.stderr.write(`\n${error instanceof Error ? error.message : error}\n\n${logs ?? ''}\n`);
    process.exitCode = 1;
  } finally {
    await here?.remove({ keepImages: keep }).catch((error) => {
      process.stderr.write(`Not all was deleted: ${error.message}\n`);
      process.exitCode = 1;
    });
    await engine.close();
  }
}

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    'host-network': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean' },
  },
});
if (values.help) process.stdout.write(`${USAGE}\n`);
else {
  const directory = mkdtempSync(join(tmpdir(), 'tidegate-containers-'));
  try {
    await main(directory, { from: values.from, hostNetwork: values['host-network'], keep: values.keep });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  } finally {
    if (existsSync(directory)) await rm(directory, { recursive: true, force: true });
  }
}
