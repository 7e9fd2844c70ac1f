import { execFile, type SpawnOptions } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: SpawnOptions;
}

/** Whether the setpriv at this path knows `--pdeathsig`. Each is asked once. */
const capable = new Map<string, Promise<boolean>>();

/**
 * Makes the system end a command with SIGINT when this process dies without ending it (kill -9).
 * Only Linux can do that, with setpriv of util-linux 2.33 or newer. Elsewhere the command stays as
 * it is.
 */
export async function diesWithParent(command: Command): Promise<Command> {
  const setpriv = process.platform === 'linux' ? await findOnPath('setpriv') : undefined;
  if (setpriv === undefined) return command;
  if (!capable.has(setpriv)) capable.set(setpriv, knowsParentDeath(setpriv));
  if (!(await capable.get(setpriv))) return command;
  return { ...command, command: setpriv, args: ['--pdeathsig', 'INT', command.command, ...command.args] };
}

const knowsParentDeath = (setpriv: string): Promise<boolean> =>
  promisify(execFile)(setpriv, ['--pdeathsig', 'INT', 'true']).then(
    () => true,
    ({ code }: { readonly code?: unknown }) => {
      // It did not even run, so it has not answered.
      if (typeof code !== 'number') capable.delete(setpriv);
      return false;
    },
  );

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
