// @ts-check
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Failure } from './terminal.mjs';

const GONE = { pid: 0, began: '' };

/** Every launcher of the checkout that runs, whatever its data folder: a file each, called by its process. */
const folderOf = (/** @type {string} */ root) => join(root, 'node_modules/.cache/tidegate/launchers');

/** What tells processes apart is in the build; without one, nothing runs. @param {string} root */
async function identities(root) {
  const path = join(root, 'infra/local/dist/process/identity.js');
  return existsSync(path) ? import(pathToFileURL(path).href) : undefined;
}

/** @param {string} root @returns {Promise<() => void>} ends the entry of this process */
export async function enterLauncher(root) {
  const own = (await identities(root))?.identify(process.pid);
  const file = join(folderOf(root), String(process.pid));
  try {
    mkdirSync(folderOf(root), { recursive: true });
    writeFileSync(file, JSON.stringify(own));
  } catch {
    // Where this user may not write, this user installs and builds nothing either.
    return () => {};
  }
  return () => rmSync(file, { force: true });
}

/**
 * For before something is installed or built, which would change the programs of a stack that runs.
 *
 * @param {string} root
 */
export async function assertNoLauncher(root) {
  const folder = folderOf(root);
  const known = await identities(root);
  if (!known || !existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (!known.isAlive(read(join(folder, name)))) {
      rmSync(join(folder, name), { force: true });
      continue;
    }
    throw new Failure(
      `Tidegate runs from this checkout (process ${name}), and its packages or build are out of date.`,
      {
        hint: `Stop it with Ctrl-C in its terminal (or: kill ${name}), then run the command again.`,
      },
    );
  }
}

/** @param {string} file of a launcher @returns {unknown} of no process when it was cut off while it was written */
function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) ?? GONE;
  } catch {
    return GONE;
  }
}
