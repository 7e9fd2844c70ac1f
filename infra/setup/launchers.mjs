// @ts-check
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Failure } from './terminal.mjs';

/** Stands for a process that has ended. */
const GONE = { pid: 0, identity: '' };

/**
 * The folder with one file for each running launcher of the checkout, whatever its data folder. The
 * file's name is the process id.
 */
const folderOf = (/** @type {string} */ root) => join(root, 'node_modules/.cache/tidegate/launchers');

/**
 * The code that identifies processes is part of the build, and needs no other package. Without a
 * build, nothing runs.
 *
 * @param {string} root
 */
export async function processesOf(root) {
  const path = join(root, 'packages/processes/dist/index.js');
  return existsSync(path) ? import(pathToFileURL(path).href) : undefined;
}

/** The set-up is needed, and refused because a stack runs. */
export class LauncherRuns extends Failure {}

/**
 * Records this process as a launcher.
 *
 * @param {string} root
 * @returns {Promise<() => void>} removes the record
 */
export async function enterLauncher(root) {
  const own = (await processesOf(root))?.identify(process.pid);
  const file = join(folderOf(root), String(process.pid));
  try {
    mkdirSync(folderOf(root), { recursive: true });
    writeFileSync(file, JSON.stringify(own));
  } catch {
    // A user who may not write here cannot install or build either.
    return () => {};
  }
  return () => rmSync(file, { force: true });
}

/**
 * Refuses to go on while a stack runs from this checkout. Installing or building would change its
 * programs.
 *
 * @param {string} root
 * @param {string} [why] why it would be changed
 * @throws {LauncherRuns}
 */
export async function assertNoLauncher(root, why = 'its packages or build are out of date') {
  const folder = folderOf(root);
  const known = await processesOf(root);
  if (!known || !existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    if (!known.isAlive(read(join(folder, name)))) {
      rmSync(join(folder, name), { force: true });
      continue;
    }
    throw new LauncherRuns(`Tidegate runs from this checkout (process ${name}), and ${why}.`, {
      hint: `Stop it with Ctrl-C in its terminal (or: kill ${name}), then run the command again.`,
    });
  }
}

/**
 * Reads a launcher's record.
 *
 * @param {string} file
 * @returns {unknown} `GONE` if the file is incomplete
 */
function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) ?? GONE;
  } catch {
    return GONE;
  }
}
