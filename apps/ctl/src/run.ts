import { ConfigError, type Variables } from '@tidegate/runtime/settings';
import { CommanderError } from 'commander';
import { environment, InstallationError, localDirOf, readConfig } from './config.ts';
import { CommandError, type Context, type Io, type Waits } from './context.ts';
import { failureOf } from './failure.ts';
import { withControl, withDb } from './open.ts';
import { createProgram } from './program.ts';

/**
 * Runs one command. Resolves to its exit status; never rejects.
 *
 * @param env default: the process's own
 */
export async function run(
  args: readonly string[],
  io: Io,
  env?: Variables,
  waits: Waits = {},
): Promise<number> {
  const context: Context = {
    io,
    waits,
    config: () => readConfig(env),
    env: () => environment(env),
    withDb: (use) => withDb(readConfig(env), waits, use),
    withControl: (use) => withControl(readConfig(env), waits, use),
  };
  try {
    refuseOtherEncodings(args);
    await createProgram(context).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // The program has already printed the help or the error.
    if (error instanceof CommanderError) return error.exitCode;
    const known = [CommandError, ConfigError, InstallationError].some((kind) => error instanceof kind);
    const failure = async () => `Failed: ${await failureOf(error, localDirOf(environment(env)))}`;
    io.err(`${known ? (error as Error).message.trim() : await failure()}\n`);
    return 1;
  }
}

/** Node decodes arguments, and puts U+FFFD in place of what is not UTF-8. */
function refuseOtherEncodings(args: readonly string[]): void {
  if (args.some((arg) => arg.includes('\ufffd'))) throw new CommandError('An argument is not UTF-8.');
}
