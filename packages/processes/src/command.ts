import type { SpawnOptions } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: SpawnOptions;
}

/**
 * Makes the system end a command with SIGINT when this process dies without ending it (kill -9).
 * Only Linux can do that. Elsewhere the command stays as it is.
 */
export async function diesWithParent(command: Command): Promise<Command> {
  const setpriv = process.platform === 'linux' ? await findOnPath('setpriv') : undefined;
  if (setpriv === undefined) return command;
  return { ...command, command: setpriv, args: ['--pdeathsig', 'INT', command.command, ...command.args] };
}

/** Finds the first executable on PATH with one of `names`. */
export async function findOnPath(...names: string[]): Promise<string | undefined> {
  for (const name of names) {
    for (const directory of (process.env.PATH ?? '').split(delimiter)) {
      const path = join(directory, name);
      if (directory !== '' && (await isExecutable(path))) return path;
    }
  }
  return undefined;
}

export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
