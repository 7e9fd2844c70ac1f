import { readFile, readlink, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { identify, until } from '@tidegate/processes';
import { EmbeddedError } from '../errors.ts';

/** Contains the id of the process that started the server. */
const OWNER_FILE = 'tidegate.owner';
const STOP_TIMEOUT_MS = 15_000;

/**
 * Cleans up after a crash. If the server was killed, its lock file is removed. If only its owner
 * was killed, the orphaned server is ended, too. Postgres itself would respect a stale lock file
 * whenever a process of its user has reused the id.
 * @throws EmbeddedError when a server with a living owner uses the directory
 */
export async function clearStaleLock(dataDir: string): Promise<void> {
  const lock = join(dataDir, 'postmaster.pid');
  const text = await readFile(lock, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return;
  const pid = Number.parseInt(text, 10);
  if (process.platform === 'linux' ? await servesFrom(pid, dataDir) : isRunning(pid)) {
    const owner = Number.parseInt(await readFile(join(dataDir, OWNER_FILE), 'utf8').catch(() => ''), 10);
    if (Number.isNaN(owner) || isRunning(owner))
      throw new EmbeddedError(`Postgres cannot start: ${dataDir} is in use by process ${pid}`);
    await end(pid);
  }
  await rm(lock, { force: true });
}

/** Records this process's id for the next start. */
export async function recordOwner(dataDir: string): Promise<void> {
  await writeFile(join(dataDir, OWNER_FILE), `${process.pid}\n`, { mode: 0o600 });
}

async function servesFrom(pid: number, dataDir: string): Promise<boolean> {
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  return cwd !== undefined && cwd === (await realpath(dataDir));
}

async function end(pid: number): Promise<void> {
  process.kill(pid, 'SIGINT');
  if (!(await until(() => !isRunning(pid), { timeoutMs: STOP_TIMEOUT_MS })))
    throw new EmbeddedError(`an orphaned Postgres (process ${pid}) did not stop`);
}

const isRunning = (pid: number): boolean => identify(pid) !== null;
