import { ConfigError, readConfig } from './config.ts';
import { CommandError, type Context } from './context.ts';
import { withControl } from './open.ts';
import { createProgram } from './program.ts';

const context: Context = {
  io: { out: (text) => process.stdout.write(text), err: (text) => process.stderr.write(text) },
  config: () => readConfig(),
  withControl: (use) => withControl(readConfig(), use),
};

try {
  await createProgram(context).parseAsync();
} catch (error) {
  process.exitCode = 1;
  const known = error instanceof CommandError || error instanceof ConfigError;
  const message = error instanceof Error ? error.message.trim() : String(error);
  // A client's error tells what it was doing first and what went wrong last.
  context.io.err(`${known ? message : `Failed: ${message.split('\n').at(-1)}`}\n`);
}
