import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { itOnLinux } from '@tidegate/testing';
import { writeRecord } from './state-file.ts';

const RECORD = { pid: 1, identity: 'some boot', port: 10_000, launchedAtMs: 0, ending: false };
const onLinux = itOnLinux(it);

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'tidegate-records-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

describe('a record that cannot be written leaves nothing behind', () => {
  onLinux('if the disk is full', () => {
    symlinkSync('/dev/full', join(stateDir, `mdl_a.json.${process.pid}.new`));
    expect(() => writeRecord(stateDir, 'mdl_a', RECORD)).toThrow('ENOSPC');
    expect(readdirSync(stateDir)).toEqual([]);
  });

  it('if it cannot be put in place', () => {
    mkdirSync(join(stateDir, 'mdl_a.json', 'in the way'), { recursive: true });
    expect(() => writeRecord(stateDir, 'mdl_a', RECORD)).toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
    expect(readdirSync(stateDir)).toEqual(['mdl_a.json']);
  });

  it('if it may not be', () => {
    expect(writeRecord(stateDir, 'mdl_a', RECORD, () => false)).toBe(false);
    expect(readdirSync(stateDir)).toEqual([]);
  });
});
