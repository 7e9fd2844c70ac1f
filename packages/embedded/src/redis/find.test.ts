import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findRedis } from './find.ts';

const path = process.env.PATH;
let directory: string;
let localDir: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-find-'));
  localDir = join(directory, 'local');
  process.env.PATH = join(directory, 'bin');
});
afterEach(async () => {
  process.env.PATH = path;
  await rm(directory, { recursive: true, force: true });
});

async function put(file: string, says = ''): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\necho '${says}'\n`);
  await chmod(file, 0o755);
}

describe('findRedis', () => {
  it('prefers redis-server on PATH', async () => {
    await put(join(directory, 'bin', 'valkey-server'));
    await put(join(directory, 'bin', 'redis-server'));
    await put(join(localDir, 'usr', 'bin', 'redis-server'));
    expect(await findRedis({ localDir })).toEqual({ command: join(directory, 'bin', 'redis-server') });
  });

  it('takes valkey-server as well', async () => {
    await put(join(directory, 'bin', 'valkey-server'));
    expect(await findRedis({ localDir })).toEqual({ command: join(directory, 'bin', 'valkey-server') });
  });

  it('takes one unpacked before, with the libraries unpacked beside it', async () => {
    await put(join(localDir, 'usr', 'bin', 'redis-server'));
    await put(join(localDir, 'usr', 'lib', 'x86_64-linux-gnu', 'liblzf.so.1'));
    expect(await findRedis({ localDir })).toEqual({
      command: join(localDir, 'usr', 'bin', 'redis-server'),
      libraryPath: join(localDir, 'usr', 'lib', 'x86_64-linux-gnu'),
    });
  });

  it('deletes one unpacked before that lacks a library, so that it is fetched again', async () => {
    const command = join(localDir, 'usr', 'bin', 'redis-server');
    await put(command);
    await writeFile(command, '#!/bin/sh\nexit 127\n');
    await expect(findRedis({ localDir })).rejects.toThrow(/^no Redis found: /);
    expect(await readdir(directory)).not.toContain('local');
  });

  it.each(['Redis server v=7.0.15 sha=00000000:0 bits=64', 'Valkey server v=10.1.2 sha=00000000:0 bits=64'])(
    'takes a server that is new enough: %s',
    async (says) => {
      const command = join(directory, 'bin', 'redis-server');
      await put(command, says);
      expect(await findRedis({ localDir })).toEqual({ command });
    },
  );

  it('refuses a server that is too old for the ACL file, and says so in one line', async () => {
    const command = join(directory, 'bin', 'redis-server');
    await put(command, 'Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64');
    await expect(findRedis({ localDir })).rejects.toThrow(
      `${command} is version 6.0.16, and Tidegate starts only 7 or newer: put a newer redis-server or valkey-server first on PATH, or set REDIS_URL`,
    );
  });

  it('says in one line how to get a server that it can neither find nor fetch', async () => {
    await expect(findRedis({ localDir })).rejects.toThrow(/^no Redis found: [^\n]+ REDIS_URL$/);
  });
});
