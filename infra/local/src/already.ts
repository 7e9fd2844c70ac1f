import { parseArgs } from 'node:util';
import type { KnownProcess } from '@tidegate/processes';
import { StackError } from './errors.ts';
import { dataDirOf, filesOf } from './files.ts';
import { ownerHint } from './owner.ts';
import { assertNotRunning } from './process/holder.ts';

/**
 * Refuses a start while the stack runs. This runs before the set-up, which would install and build
 * underneath the stack. So it loads nothing from node_modules, which may be missing, and ignores
 * arguments that it does not know: they may be a newer version's.
 *
 * @param args the arguments of `npm start`
 * @param isAlive the one of packages/processes
 * @throws StackError when a stack runs on the data folder that they name
 */
export function refuseIfRunning(args: readonly string[], isAlive: (known: KnownProcess) => boolean): void {
  const { values } = parseArgs({
    args: [...args],
    options: { 'data-dir': { type: 'string' } },
    strict: false,
  });
  const given = values['data-dir'];
  const files = filesOf(dataDirOf(typeof given === 'string' ? given : undefined));
  try {
    assertNotRunning(files, isAlive);
  } catch (error) {
    if (error instanceof StackError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    // The start itself reports whatever else is wrong with the folder.
    if (code !== 'EACCES' && code !== 'EPERM') return;
    throw new StackError(`The data folder ${files.dataDir} cannot be used: permission denied`, {
      hint: ownerHint(files.dataDir),
      cause: error,
    });
  }
}
