import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';

/*
 * On Linux each thread has its own niceness. A sandbox may forbid changing it. Parsing in workers
 * then competes evenly with streams.
 */
const NICENESS = 10;
const THREADS = '/proc/self/task';

/** Lowers the priority of the calling thread, so that streams get the cores first. */
export function lowerThreadPriority(): void {
  // 0 is the calling thread.
  if (process.platform === 'linux') lower([0]);
}

/**
 * Lowers the priority of all threads but the main one. Called at startup, it affects the helper
 * threads of V8 and libuv. V8's also collect the workers' garbage, and would otherwise hold all
 * cores while they do.
 */
export function lowerHelperPriorities(): void {
  if (process.platform === 'linux') lower(threads().filter((id) => id !== process.pid));
}

function threads(): number[] {
  try {
    return readdirSync(THREADS).map(Number);
  } catch {
    // A sandbox may have no /proc.
    return [];
  }
}

function lower(threadIds: readonly number[]): void {
  for (const id of threadIds) {
    try {
      setPriority(id, NICENESS);
    } catch {
      // Forbidden, or the thread has ended.
    }
  }
}
