// @ts-check
// npm start: sets the checkout up, then starts everything on this machine and stays until Ctrl-C.
import { setUp } from './setup/setup.mjs';
import { createTerminal, printFailure } from './setup/terminal.mjs';

const terminal = createTerminal(process.stdout);
try {
  terminal.print(`\n  ${terminal.bold('Tidegate')}\n`);
  await setUp(terminal);
  const launcher = new URL('./local/dist/launcher.js', import.meta.url).href;
  const { launch } = await import(launcher);
  process.exitCode = await launch(process.argv.slice(2), terminal);
} catch (error) {
  printFailure(terminal, error);
  process.exitCode = 1;
}
