// @ts-check
// npm start: sets the checkout up, then starts everything on this machine and stays until Ctrl-C.
import { setUp } from './setup/setup.mjs';
import { createTerminal, printFailure } from './setup/terminal.mjs';

// Who read the output may be gone before us: that must not keep anything from being stopped in order.
process.stdout.on('error', () => {});
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
