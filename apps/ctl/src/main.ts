import { ConfigError, readConfig } from './config.ts';
import { CommandError, type Context } from './context.ts';
import { failureOf } from './failure.ts';
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
  context.io.err(`${known ? error.message.trim() : `Failed: ${await failureOf(error)}`}\n`);
}
