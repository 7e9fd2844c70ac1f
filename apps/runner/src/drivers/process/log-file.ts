import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from '../../pause.ts';

/**
 * When a log is longer, its end goes to `.log.1` and it starts again. So a model keeps up to twice
 * this.
 */
const MAX_LOG_BYTES = 4 * 1024 * 1024;
const CHECK_SIZE_EVERY_MS = 2_000;

export const logFileOf = (stateDir: string, modelId: string): string => join(stateDir, `${modelId}.log`);

/**
 * Opens the log for appending. So the process that inherits it writes at the new end after a
 * truncation.
 */
export const openLog = (stateDir: string, modelId: string): number =>
  openSync(logFileOf(stateDir, modelId), 'a', 0o600);

/** Keeps the log bounded while the process runs. Never rejects. */
export async function boundLog(stateDir: string, modelId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      rotateLog(stateDir, modelId, MAX_LOG_BYTES);
    } catch {
      // For example, the disk is full. The next round tries again.
    }
    await pause(CHECK_SIZE_EVERY_MS, signal);
  }
}

export function rotateLog(stateDir: string, modelId: string, maxBytes: number): void {
  const file = logFileOf(stateDir, modelId);
  let fd: number | null = null;
  try {
    fd = openSync(file, 'r+');
    const { size } = fstatSync(fd);
    if (size <= maxBytes) return;
    // However much was printed at once, only the newest part is kept.
    const newest = Buffer.alloc(maxBytes);
    readSync(fd, newest, 0, maxBytes, size - maxBytes);
    // This log may be what has filled the disk.
    ftruncateSync(fd, 0);
    writeFileSync(`${file}.1`, newest, { mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

export function removeLog(stateDir: string, modelId: string): void {
  const file = logFileOf(stateDir, modelId);
  rmSync(file, { force: true });
  rmSync(`${file}.1`, { force: true });
}
