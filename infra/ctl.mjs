// @ts-check
// npm run -s ctl: sets up the checkout if need be (with messages on stderr), then runs the command
// line. While a stack runs whose checkout has changed, such as before an upgrade, the command line
// is the one that was built with the stack.
import { LauncherRuns } from './setup/launchers.mjs';
import { setUp } from './setup/setup.mjs';
import { createTerminal, printFailure } from './setup/terminal.mjs';

const terminal = createTerminal(process.stderr);
try {
  await setUp(terminal);
} catch (error) {
  if (!(error instanceof LauncherRuns)) {
    printFailure(terminal, error);
    process.exit(1);
  }
  terminal.print(`${error.message} This ctl is from that build.`);
}
await import(new URL('../apps/ctl/dist/main.js', import.meta.url).href);
