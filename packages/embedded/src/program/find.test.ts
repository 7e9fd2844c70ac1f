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

describe('findChromium', () => {
  it('takes the one on PATH', async () => {
    const command = join(directory, 'chromium');
    await writeFile(command, '#!/bin/sh\n');
    await chmod(command, 0o755);
    expect(await findChromium()).toBe(command);
  });

  it('says in one line how to get one where it cannot', async () => {
    await expect(findChromium()).rejects.toThrow(/^no Chromium found: [^\n]+$/);
    await expect(findProgram({ title: 'curl', names: ['curl'], package: 'curl' })).rejects.toThrow(
      /^no curl found: install the package curl/,
    );
  });
});
