import { readFile, readlink, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EmbeddedError } from '../errors.ts';

const STOP_TIMEOUT_MS = 15_000;

/**
 * Clears what a server that was killed left behind: its lock file, or, when only its owner was killed, the orphaned server
 * itself. Postgres would take a lock file for live if any process of its user has the number by now.
 * @throws EmbeddedError when the directory is in use by a server whose owner lives
 */
export async function clearStaleLock(dataDir: string): Promise<void> {
  const lock = join(dataDir, 'postmaster.pid');
  const text = await readFile(lock, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return;
  const pid = Number.parseInt(text, 10);
  if (process.platform === 'linux' ? await servesFrom(pid, dataDir) : isAlive(pid)) {
    if ((await parentOf(pid)) !== 1)
      throw new EmbeddedError(`Postgres cannot start: ${dataDir} is in use by process ${pid}`);
    await end(pid);
  }
  await rm(lock, { force: true });
}

async function servesFrom(pid: number, dataDir: string): Promise<boolean> {
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  return cwd !== undefined && cwd === (await realpath(dataDir));
}

async function parentOf(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const parent = /^PPid:\s+(\d+)$/m.exec(status)?.[1];
  return parent === undefined ? undefined : Number(parent);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function end(pid: number): Promise<void> {
  process.kill(pid, 'SIGINT');
  const deadline = performance.now() + STOP_TIMEOUT_MS;
  while (isAlive(pid)) {
    if (performance.now() > deadline)
      throw new EmbeddedError(`an orphaned Postgres (process ${pid}) does not end`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
