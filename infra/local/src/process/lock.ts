import { linkSync, writeFileSync } from 'node:fs';
import { StackError } from '../errors.ts';
import { type Files, readJson, removeFile } from '../files.ts';
import { identify, isAlive, type ProcessIdentity, signal } from './identity.ts';
import { until } from './wait.ts';

const LEFTOVER_TIMEOUT_MS = 15_000;

/**
 * Makes this process the only launcher of the data folder, and returns the release.
 * @throws StackError when another one runs
 */
export function takeLock({ lock, dataDir }: Files): () => void {
  const own = identify(process.pid);
  const staged = `${lock}.${process.pid}`;
  writeFileSync(staged, JSON.stringify(own), { mode: 0o600 });
  try {
    for (;;) {
      if (tryLink(staged, lock)) return () => removeFile(lock);
      const holder = readJson(lock) as ProcessIdentity | null;
      if (holder && isAlive(holder)) {
        throw new StackError(`Tidegate is already running here (process ${holder.pid}).`, {
          hint: `Stop it with Ctrl-C in its terminal, or: kill ${holder.pid}\nIts data is in ${dataDir}.`,
        });
      }
      removeFile(lock);
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

/** Ends what a launcher that was killed left running, so that nothing writes to the data beside us. */
export async function endLeftovers({ processes }: Files): Promise<void> {
  const known = (readJson(processes) ?? []) as ProcessIdentity[];
  const left = known.filter(isAlive);
  for (const { pid } of left) signal(pid, 'SIGTERM', { group: true });
  const gone = () => !left.some(isAlive);
  if (!(await until(gone, { timeoutMs: LEFTOVER_TIMEOUT_MS }))) {
    for (const { pid } of left) signal(pid, 'SIGKILL', { group: true });
    await until(gone, { timeoutMs: LEFTOVER_TIMEOUT_MS });
  }
  removeFile(processes);
}
