import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { unpackWithApt } from './apt.ts';

const path = process.env.PATH;
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-redis-apt-'));
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

it('a Redis that is fetched comes with its missing libraries, whatever language the system speaks', async () => {
  await program('apt-cache', `[ "$LC_ALL" = C ] && echo "  Depends: libx1" || echo "  Hängt ab von: libx1"`);
  // `apt-get download -qq NAME…`
  const apt = await program('apt-get', 'shift 2; for name; do : > "$name.deb"; done');
  // `dpkg -s NAME`, or `dpkg -x FILE TREE`
  await program('dpkg', '[ "$1" = -x ] && cp "$2" "$3"');
  await unpackWithApt(apt, join(directory, 'local'), undefined);
  expect((await readdir(join(directory, 'local'))).sort()).toEqual([
    'libx1.deb',
    'redis-server.deb',
    'redis-tools.deb',
  ]);
});
