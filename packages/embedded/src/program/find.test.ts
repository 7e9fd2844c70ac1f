import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findChromium, findProgram } from './find.ts';

const path = process.env.PATH;
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-program-'));
  process.env.PATH = directory;
});
afterEach(async () => {
  process.env.PATH = path;
  await rm(directory, { recursive: true, force: true });
});

async function program(name: string, script: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

describe('findChromium', () => {
  it('takes the one on PATH, and prefers the headless shell if there are two', async () => {
    const chromium = await program('chromium', 'exit 0');
    expect(await findChromium()).toBe(chromium);
    const shell = await program('chromium-headless-shell', 'exit 0');
    expect(await findChromium()).toBe(shell);
  });

  it('installs the next package where a system does not have the first', async () => {
    // `apt-get install … NAME`: the last argument is the package.
    await program(
      'apt-get',
      `for name; do :; done
      [ "$name" = chromium ] || exit 100
      printf '#!/bin/sh\\n' > ${directory}/chromium; /bin/chmod +x ${directory}/chromium`,
    );
    if (process.getuid?.() === 0) expect(await findChromium()).toBe(join(directory, 'chromium'));
    else await expect(findChromium()).rejects.toThrow(/^no Chromium found: /);
  });

  it('says in one line how to get a program that it can neither find nor install', async () => {
    await expect(findChromium()).rejects.toThrow(/^no Chromium found: [^\n]+$/);
    await expect(
      findProgram({ title: 'curl', names: ['curl'], packages: ['curl', 'curl-minimal'] }),
    ).rejects.toThrow(/^no curl found: install the system package curl or curl-minimal$/);
  });
});
