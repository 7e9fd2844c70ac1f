// @ts-check
// What the trials of whole releases share: the previous release, and a table of what was seen.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './command.mjs';

const ROOT = join(import.meta.dirname, '../..');

/**
 * Puts the files of a commit into a folder.
 * @param {string} commit @param {string} into @param {AbortSignal} [signal]
 */
export async function checkOut(commit, into, signal) {
  mkdirSync(into, { recursive: true });
  const archive = `${into}.tar`;
  await run('git', ['archive', '-o', archive, commit], { cwd: ROOT, signal });
  await run('tar', ['-C', into, '-xf', archive], { signal });
  return into;
}

export const printHead = () => process.stdout.write('| step | s | what was seen |\n|---|---|---|\n');

/**
 * Prints what a step saw, and how long it took.
 * @param {string} name @param {() => Promise<string>} work
 */
export async function printRow(name, work) {
  const startedAtMs = Date.now();
  const row = (/** @type {string} */ saw) =>
    process.stdout.write(`| ${name} | ${Math.round((Date.now() - startedAtMs) / 1_000)} | ${saw} |\n`);
  try {
    row(await work());
  } catch (error) {
    row('FAILED');
    throw error;
  }
}
