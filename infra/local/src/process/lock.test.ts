import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { identify } from '@tidegate/processes';
import { filesOf } from '../files.ts';
import { removeStale, takeLock } from './lock.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tidegate-lock-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

it('a lock whose launcher was killed is taken over, by one launcher', () => {
  const files = filesOf(dir);
  const own = JSON.stringify(identify(process.pid));
  writeFileSync(files.lock, JSON.stringify({ pid: process.pid, identity: 'of an earlier process' }));
  const release = takeLock(files);
  // Another launcher had read the old lock before it was replaced.
  removeStale(files.lock, join(dir, 'aside'));
  expect(readFileSync(files.lock, 'utf8')).toBe(own);
  expect(() => takeLock(files)).toThrow('already running');
  release();
  takeLock(files)();
});
