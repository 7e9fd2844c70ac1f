import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { install } from './setup/packages.mjs';
import { createTerminal } from './setup/terminal.mjs';

const written = () => {
  const texts: string[] = [];
  return { texts, write: (text: string) => texts.push(text) };
};
const work = (note: (text: string) => void, progress: (text: string) => void) => {
  progress('1 of 2');
  progress('2 of 2');
  note('installed');
};

describe('progress of a phase', () => {
  it('is a line of its own where the output is not a terminal', async () => {
    const out = written();
    await createTerminal(out, { progressEveryMs: 0 }).phase('packages', work, { slow: 'a minute' });
    expect(out.texts.slice(0, 3)).toEqual([
      '  … packages (a minute)\n',
      '    packages 1 of 2\n',
      '    packages 2 of 2\n',
    ]);
    expect(out.texts.at(-1)).toMatch(/^ {2}✓ packages installed +\d+\.\d s\n$/);
  });

  it('gets such a line only now and then', async () => {
    const out = written();
    await createTerminal(out, { progressEveryMs: 60_000 }).phase('packages', work);
    expect(out.texts).toHaveLength(1);
  });

  it('leaves one line on a terminal', async () => {
    const out = written();
    await createTerminal({ ...out, isTTY: true }, { progressEveryMs: 0 }).phase('packages', work);
    expect(out.texts.join('').split('\n')).toHaveLength(2);
  });
});

describe('while npm installs', () => {
  const npmBefore = process.env.npm_execpath;
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'tidegate-install-'));
    process.env.npm_execpath = join(root, 'npm.js');
    // It ends when it is told to.
    writeFileSync(
      join(root, 'npm.js'),
      `setInterval(() => require('node:fs').existsSync('${root}/end') && process.exit(), 20)`,
    );
    const packages = { 'node_modules/a': {}, 'node_modules/b': {}, 'node_modules/c': { os: ['none'] } };
    writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }));
  });
  afterEach(() => {
    if (npmBefore === undefined) delete process.env.npm_execpath;
    else process.env.npm_execpath = npmBefore;
    rmSync(root, { recursive: true, force: true });
  });

  it('the packages for this machine are counted as they arrive', async () => {
    const out = written();
    const installed = install(root, 'everything', createTerminal(out, { progressEveryMs: 0 }));
    await eventually(() => out.texts.includes('    packages 0 of 2\n'));
    mkdirSync(join(root, 'node_modules/a'), { recursive: true });
    writeFileSync(join(root, 'node_modules/a/package.json'), '{}');
    await eventually(() => out.texts.includes('    packages 1 of 2\n'));
    writeFileSync(join(root, 'end'), '');
    await installed;
  });
});
