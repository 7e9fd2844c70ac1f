import { statSync } from 'node:fs';

/**
 * Whether other processes of this process's user can read its environment and its memory. Linux
 * closes them if the user may run the program but not read it (mode 0711), as in the runner's
 * image: then they belong to root.
 *
 * @param uid the user that this process runs as
 */
export function isOpenToOwnUser(uid: number | undefined): boolean {
  try {
    return statSync('/proc/self/environ').uid === uid;
  } catch {
    return true;
  }
}
