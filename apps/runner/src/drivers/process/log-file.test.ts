import { closeSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { logFileOf, openLog, removeLog, rotateLog } from './log-file.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tidegate-log-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe("a model's log", () => {
  it('stays bounded under a process that keeps writing to it, and keeps the newest output', () => {
    const log = openLog(dir, 'mdl_1');
    for (let i = 0; i < 100; i++) {
      writeSync(log, `${String(i).padStart(99)}\n`);
      rotateLog(dir, 'mdl_1', 1_000);
    }
    closeSync(log);
    const [now, before] = [logFileOf(dir, 'mdl_1'), `${logFileOf(dir, 'mdl_1')}.1`];
    expect(statSync(now).size + statSync(before).size).toBeLessThanOrEqual(2_200);
    const lines = (readFileSync(before, 'utf8') + readFileSync(now, 'utf8')).trim().split(/\n\s*/);
    expect(lines.map(Number)).toEqual(Array.from({ length: lines.length }, (_, i) => 100 - lines.length + i));
  });

  it('keeps the end of what was printed at once, however much that was', () => {
    const log = openLog(dir, 'mdl_1');
    writeSync(log, `${'x'.repeat(50_000)}${'y'.repeat(1_000)}`);
    closeSync(log);
    rotateLog(dir, 'mdl_1', 1_000);
    expect(readFileSync(`${logFileOf(dir, 'mdl_1')}.1`, 'utf8')).toBe('y'.repeat(1_000));
    expect(statSync(logFileOf(dir, 'mdl_1')).size).toBe(0);
  });

  it('frees its disk space even if its end cannot be kept, as when it has filled the disk', () => {
    const log = openLog(dir, 'mdl_1');
    writeSync(log, 'x'.repeat(50_000));
    closeSync(log);
    // This stands in for a full disk: whatever is written here fails.
    mkdirSync(`${logFileOf(dir, 'mdl_1')}.1`);
    expect(() => rotateLog(dir, 'mdl_1', 1_000)).toThrow('EISDIR');
    expect(statSync(logFileOf(dir, 'mdl_1')).size).toBe(0);
  });

  it('is readable only by the runner, and deleted with its model', () => {
    closeSync(openLog(dir, 'mdl_1'));
    expect(statSync(logFileOf(dir, 'mdl_1')).mode & 0o777).toBe(0o600);
    removeLog(dir, 'mdl_1');
    expect(() => statSync(logFileOf(dir, 'mdl_1'))).toThrow('ENOENT');
    expect(() => rotateLog(dir, 'mdl_1', 1)).not.toThrow();
  });
});
