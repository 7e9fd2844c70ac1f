// @ts-check
// npm run -s ctl: sets up the checkout if need be (with messages on stderr), then runs the command
// line.
import { setUp } from './setup/setup.mjs';
import { createTerminal, printFailure } from './setup/terminal.mjs';

const terminal = createTerminal(process.stderr);
try {
  await setUp(terminal);
} catch (error) {
  printFailure(terminal, error);
  process.exit(1);
}
await import(new URL('../apps/ctl/dist/main.js', import.meta.url).href);
