// @ts-check
// npm start: sets the checkout up, then starts everything on this machine and stays until Ctrl-C.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { checkGivenStores } from './setup/given-stores.mjs';
import { enterLauncher, processesOf } from './setup/launchers.mjs';
import { checkNode, root, setUp } from './setup/setup.mjs';
import { createTerminal, printFailure } from './setup/terminal.mjs';

// Whoever reads our output may end before us. That must not prevent an orderly stop.
process.stdout.on('error', () => {});
const terminal = createTerminal(process.stdout);
const args = process.argv.slice(2);
const built = (/** @type {string} */ name) => new URL(`./local/dist/${name}`, import.meta.url);

/**
 * Loads a module of an existing build before the set-up: to see whether a stack runs, and for the
 * help. A build of an earlier version may not have it.
 */
const fromBuild = (/** @type {string} */ name) =>
  existsSync(fileURLToPath(built(name))) ? import(built(name).href) : undefined;

/** @returns {Promise<number>} the exit code */
async function start() {
  checkNode();
  const usage = args.some((arg) => arg === '--help' || arg === '-h')
    ? (await fromBuild('arguments.js'))?.USAGE
    : undefined;
  if (usage) {
    terminal.print(usage);
    return 0;
  }
  (await fromBuild('already.js'))?.refuseIfRunning(args, (await processesOf(root))?.isAlive);
  await checkGivenStores();
  await setUp(terminal);
  const { launch } = await import(built('launcher.js').href);
  const leave = await enterLauncher(root);
  return launch(args, terminal).finally(leave);
}

try {
  terminal.print(`\n  ${terminal.bold('Tidegate')}\n`);
  process.exitCode = await start();
} catch (error) {
  printFailure(terminal, error);
  process.exitCode = 1;
}
