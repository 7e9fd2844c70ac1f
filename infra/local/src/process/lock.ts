import { linkSync, renameSync, writeFileSync } from 'node:fs';
import { endGroup, identify, isAlive, type KnownProcess } from '@tidegate/processes';
import { type Files, readJson, removeFile } from '../files.ts';
import { assertNotRunning } from './holder.ts';

const LEFTOVER_TIMINGS = { stopGraceMs: 15_000, killGraceMs: 15_000 };

/**
 * Makes this process the only launcher of the data folder.
 *
 * @returns the function that releases the lock
 * @throws StackError when another launcher is running
 */
export function takeLock(files: Files): () => void {
  const { lock } = files;
  const own = identify(process.pid);
  const staged = `${lock}.${process.pid}`;
  try {
    writeFileSync(staged, JSON.stringify(own), { mode: 0o600 });
    for (;;) {
      if (tryLink(staged, lock)) return () => removeFile(lock);
      assertNotRunning(files, isAlive);
      removeStale(lock, `${staged}.old`);
    }
  } finally {
    removeFile(staged);
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes the lock of a launcher that has ended. Another launcher may have put its own lock there
 * since this one was read: then that lock stays.
 */
export function removeStale(lock: string, aside: string): void {
  try {
    renameSync(lock, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const holder = readJson(aside) as KnownProcess | null;
  if (holder && isAlive(holder)) tryLink(aside, lock);
  removeFile(aside);
}

/** Ends what a killed launcher left running, so that no other process writes to the data. */
export async function endLeftovers({ processes }: Files): Promise<void> {
  const known = (readJson(processes) ?? []) as KnownProcess[];
  // A process that cannot be ended does not prevent a start: the stores guard their data
  // themselves.
  await Promise.allSettled(known.filter(isAlive).map((leader) => endGroup(leader, LEFTOVER_TIMINGS)));
  removeFile(processes);
}
