import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, freePort, isPidAlive, itOnLinux } from '@tidegate/testing';
import { findRedis, type RedisServer } from './find.ts';
import { type RunningRedis, startRedis } from './start.ts';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));

let server: RedisServer;
let dir: string;
let running: RunningRedis | undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tidegate-redis-'));
  server = await findRedis({
    localDir: fileURLToPath(new URL('../../../../.local/redis-server', import.meta.url)),
  });
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
  await rm(dir, { recursive: true, force: true });
});

describe('startRedis', () => {
  it('names the port that is taken', async () => {
    const port = await freePort();
    running = await startRedis({ server, dir, port });
    const expected = `Redis cannot start: port ${port} of 127.0.0.1 is taken by another process`;
    await expect(startRedis({ server, dir: join(dir, 'other'), port })).rejects.toThrow(expected);
  });

  it('is gone when stop resolves, and stopping again does nothing', async () => {
    running = await startRedis({ server, dir, port: await freePort() });
    expect(isPidAlive(running.pid)).toBe(true);
    await running.stop();
    expect(isPidAlive(running.pid)).toBe(false);
    await running.stop();
  });

  it('says so when the server ends while starting', async () => {
    const broken = startRedis({ server: { command: 'false' }, dir, port: await freePort() });
    await expect(broken).rejects.toThrow('Redis ended while starting');
    const absent = startRedis({ server: { command: '/nonexistent' }, dir, port: await freePort() });
    await expect(absent).rejects.toThrow('/nonexistent');
  });

  const onLinux = itOnLinux(it);
  onLinux('ends with its owner, even if the owner is killed without warning', async () => {
    const options = JSON.stringify({ server, dir, port: await freePort() });
    const source = `import { startRedis } from '@tidegate/embedded';
      console.log((await startRedis(${options})).pid)`;
    const owner = spawn(process.execPath, ['--input-type=module', '-e', source], { cwd: PACKAGE });
    const pid = await new Promise<number>((resolve) =>
      owner.stdout.once('data', (data) => resolve(Number(data))),
    );
    expect(isPidAlive(pid)).toBe(true);
    owner.kill('SIGKILL');
    await eventually(() => !isPidAlive(pid));
  });
});
