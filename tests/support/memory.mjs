// @ts-check
import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { isPidAlive } from '@tidegate/testing';

/** Files here are in memory, on Linux. */
const MEMORY = '/dev/shm';
/** Databases of a run's tests take 120 MB at once. */
const ENOUGH_BYTES = 1024 ** 3;
const NAME = /^tidegate-test-(\d+)-/;

/**
 * Makes a directory in memory, or returns undefined if there is no room. The caller removes it.
 * Those of runs that were killed are removed here.
 *
 * @returns {Promise<string | undefined>}
 */
export async function directoryInMemory() {
  const disk = await statfs(MEMORY).catch(() => undefined);
  if (!disk) return undefined;
  for (const name of await readdir(MEMORY)) {
    const pid = Number(NAME.exec(name)?.[1]);
    if (!pid || isPidAlive(pid)) continue;
    // Fails if it is another user's, which must not fail this run.
    await rm(join(MEMORY, name), { recursive: true, force: true }).catch(() => {});
  }
  const room = Math.min(disk.bavail * disk.bsize, process.availableMemory());
  return room < ENOUGH_BYTES ? undefined : mkdtemp(join(MEMORY, `tidegate-test-${process.pid}-`));
}
