import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { UNPRIVILEGED } from '@tidegate/processes';
import { itAsRoot } from '@tidegate/testing';
import { isOpenToOwnUser } from './own-memory.ts';

const asRoot = itAsRoot(it);
const { uid, gid } = UNPRIVILEGED;
const AS_OWN_USER = { uid, gid, cwd: '/' } as const;
const PRINT_OWNER = 'console.log(fs.statSync("/proc/self/environ").uid); setInterval(() => {}, 1000)';

let dir: string;
let running: ChildProcess | null = null;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tidegate-memory-'));
  chmodSync(dir, 0o755);
});
afterEach(() => {
  running?.kill('SIGKILL');
  rmSync(dir, { recursive: true });
});

/**
 * Runs a copy of Node with this mode, and returns who owns its environment and which of its files
 * can be opened.
 */
async function openFiles(mode: number) {
  const node = join(dir, 'node');
  copyFileSync(realpathSync(process.execPath), node);
  chmodSync(node, mode);
  const env = { SECRET_KEY: 'mark-of-a-secret' };
  const child = spawn(node, ['-e', PRINT_OWNER], {
    ...AS_OWN_USER,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running = child;
  const [owner] = await once(child.stdout, 'data');
  const opened = (file: string): boolean => {
    try {
      execFileSync('/bin/sh', ['-c', `exec 3<"/proc/${child.pid}/${file}"`], {
        ...AS_OWN_USER,
        stdio: 'ignore',
      });
      return true;
    } catch {
      return false;
    }
  };
  return { owner: Number(owner), open: ['environ', 'mem', 'maps'].filter(opened) };
}

describe('a runner that shares its user with models', () => {
  asRoot('is closed to them if that user may run Node but not read it', async () => {
    expect(await openFiles(0o711)).toEqual({ owner: 0, open: [] });
  });

  asRoot('is open to them if that user may read Node', async () => {
    expect(await openFiles(0o755)).toEqual({ owner: uid, open: ['environ', 'mem', 'maps'] });
  });

  it('knows whether it is open to them', () => {
    expect(isOpenToOwnUser(process.getuid?.())).toBe(true);
    expect(isOpenToOwnUser(uid)).toBe(process.getuid?.() === uid);
  });
});
