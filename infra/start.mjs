// @ts-check
// npm start: sets the checkout up, then starts everything on this machine and stays until Ctrl-C.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setUp } from './setup/setup.mjs';
import { createTerminal, printFailure } from './setup/terminal.mjs';

// Who read the output may be gone before us: that must not keep anything from being stopped in order.
process.stdout.on('error', () => {});
const terminal = createTerminal(process.stdout);
const args = process.argv.slice(2);
const built = (/** @type {string} */ name) => new URL(`./local/dist/${name}`, import.meta.url);

/** What runs was built, so that what tells whether it runs is in the build; a build of an earlier version may not tell yet. */
async function refuseIfRunning() {
  const already = built('already.js');
  if (existsSync(fileURLToPath(already))) (await import(already.href)).refuseIfRunning(args);
}

try {
  terminal.print(`\n  ${terminal.bold('Tidegate')}\n`);
  await refuseIfRunning();
  await setUp(terminal);
  const { launch } = await import(built('launcher.js').href);
  process.exitCode = await launch(args, terminal);
} catch (error) {
  printFailure(terminal, error);
  process.exitCode = 1;
}
