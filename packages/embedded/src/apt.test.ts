import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { withoutServices } from './apt.ts';

let directory: string;
let policy: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-apt-'));
  policy = join(directory, 'policy-rc.d');
});
afterEach(() => rm(directory, { recursive: true, force: true }));

describe('the policy that packages start no services', () => {
  it('is removed afterwards, even if a run that was killed left it behind', async () => {
    let written = '';
    await withoutServices(async () => {
      written = await readFile(policy, 'utf8');
    }, policy);
    expect(written).toContain('exit 101');
    expect(await readdir(directory)).toEqual([]);
    await writeFile(policy, written);
    await withoutServices(async () => {}, policy);
    expect(await readdir(directory)).toEqual([]);
  });

  it("stays as it is when it is somebody else's", async () => {
    await writeFile(policy, '#!/bin/sh\nexit 101\n');
    await withoutServices(async () => {}, policy);
    expect(await readFile(policy, 'utf8')).toBe('#!/bin/sh\nexit 101\n');
  });
});
