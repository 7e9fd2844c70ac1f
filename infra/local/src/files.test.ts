import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { itOnLinux } from '@tidegate/testing';
import { filesOf, writeJson } from './files.ts';
import { takeLock } from './process/lock.ts';

const onLinux = itOnLinux(it);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-files-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a file that cannot be written leaves nothing behind', () => {
  onLinux('if the disk is full', () => {
    symlinkSync('/dev/full', join(folder, `.stack.json.${process.pid}`));
    expect(() => writeJson(join(folder, 'stack.json'), {})).toThrow('ENOSPC');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('if it cannot be put in place', () => {
    mkdirSync(join(folder, 'stack.json/in the way'), { recursive: true });
    expect(() => writeJson(join(folder, 'stack.json'), {})).toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
    expect(readdirSync(folder)).toEqual(['stack.json']);
  });

  onLinux('if it is the lock', () => {
    symlinkSync('/dev/full', join(folder, `launcher.pid.${process.pid}`));
    expect(() => takeLock(filesOf(folder))).toThrow('ENOSPC');
    expect(readdirSync(folder)).toEqual([]);
  });
});
