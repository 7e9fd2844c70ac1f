import type { ChildProcess } from 'node:child_process';
import { signal } from './group.ts';

/** How a child ended. Both null: it could not be started, or how it ended is unknown. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it could not be started. */
  readonly error?: Error;
}

/**
 * Resolves when a child has ended or could not be started. Never rejects. Call it right after
 * `spawn`.
 *
 * @param event `close` also waits for the end of its output
 */
export const exitOf = (child: ChildProcess, event: 'exit' | 'close' = 'exit'): Promise<Exit> =>
  new Promise((resolve) => {
    child.once(event, (code, by) => resolve({ code, signal: by }));
    // Other errors, such as a signal that could not be sent, do not mean that it has ended.
    child.on('error', (error) => child.pid === undefined && resolve({ code: null, signal: null, error }));
  });

/**
 * Ends a child that leads its own group (`detached`). Sends it `ask`. Once it has ended, or after
 * `timeoutMs`, sends SIGKILL to its whole group, so that none of its processes is left. Resolves
 * when it has ended.
 */
export async function stopChild(
  child: ChildProcess,
  {
    exited,
    ask = 'SIGTERM',
    timeoutMs,
  }: { exited: Promise<unknown>; ask?: NodeJS.Signals; timeoutMs: number },
): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  child.kill(ask);
  const force = () => signal(pid, 'SIGKILL', { group: true });
  const timer = setTimeout(force, timeoutMs);
  await exited;
  clearTimeout(timer);
  force();
}
