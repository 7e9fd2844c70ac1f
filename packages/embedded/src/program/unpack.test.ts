import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findOrUnpack } from './unpack.ts';

const path = process.env.PATH;
const TOOL = { name: 'tool', package: 'tools' };
let directory: string;
let localDir: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-unpack-'));
  localDir = join(directory, 'local/tool');
  process.env.PATH = [directory, '/usr/bin', '/bin'].join(delimiter);
});
afterEach(async () => {
  process.env.PATH = path;
  await rm(directory, { recursive: true, force: true });
});

async function program(name: string, script: string): Promise<string> {
  const file = join(directory, name);
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  return file;
}

describe('a program that is unpacked', () => {
  it('is the one on PATH if there is one', async () => {
    const tool = await program('tool', 'exit 0');
    expect(await findOrUnpack(TOOL, localDir)).toBe(tool);
  });

  it('is downloaded once, after new package lists if need be, and leaves nothing else behind', async () => {
    const log = join(directory, 'log');
    await program(
      'apt-get',
      `echo "$1" >> ${log}; [ "$1" = update ] && exit 0; [ "$(grep -c download ${log})" = 2 ] && : > tools_1.deb`,
    );
    // `dpkg -x FILE TREE`
    await program('dpkg', 'mkdir -p "$3/usr/bin"; : > "$3/usr/bin/tool"; chmod +x "$3/usr/bin/tool"');
    for (let i = 0; i < 2; i++)
      expect(await findOrUnpack(TOOL, localDir)).toBe(join(localDir, 'usr/bin/tool'));
    expect(await readdir(join(directory, 'local'))).toEqual(['tool']);
  });

  it('is asked for in one line if it can be neither found nor fetched', async () => {
    process.env.PATH = directory;
    await expect(findOrUnpack(TOOL, localDir)).rejects.toThrow(
      /^no tool found: install the system package tools$/,
    );
  });
});
