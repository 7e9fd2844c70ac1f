import { linkSync, writeFileSync } from 'node:fs';
import { StackError } from '../errors.ts';
import { type Files, readJson, removeFile } from '../files.ts';
import type { StackInfo } from '../info.ts';
import { identify, isAlive, type ProcessIdentity, signal } from './identity.ts';
import { until } from './wait.ts';

const LEFTOVER_TIMEOUT_MS = 15_000;

/**
 * @throws StackError when a launcher already uses the data folder; the hint says where its services
 * answer
 */
export function assertNotRunning(files: Files): void {
  const holder = readJson(files.lock) as ProcessIdentity | null;
  if (!holder || !isAlive(holder)) return;
  const info = readJson(files.stack) as StackInfo | null;
  const answers = [info?.gateway && `API: ${info.gateway}`, info?.console && `Console: ${info.console}`];
  throw new StackError(`Tidegate is already running here (process ${holder.pid}).`, {
    hint: [
      ...(info ? answers.filter((line) => line) : ['It is still starting.']),
      `Stop it with Ctrl-C in its terminal, or: kill ${holder.pid}`,
      `Its data is in ${files.dataDir}. To run a second one, give it its own --data-dir, --gateway-port and --console-port.`,
    ].join('\n'),
  });
}

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
  writeFileSync(staged, JSON.stringify(own), { mode: 0o600 });
  try {
    for (;;) {
      if (tryLink(staged, lock)) return () => removeFile(lock);
      assertNotRunning(files);
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

/** Ends what a killed launcher left running, so that no other process writes to the data. */
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
