import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { makeRoomForFiles } from './file-table.ts';

const openFiles = (): number => readdirSync('/proc/self/fd').length;

describe('the table of open files', () => {
  it('has room for a thousand requests before the first one comes', () => {
    const before = openFiles();
    makeRoomForFiles();
    const [, size] = /FDSize:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    expect(Number(size)).toBeGreaterThanOrEqual(2_048);
    expect(openFiles()).toBe(before);
  });

  it('grows only as far as the process may open files', () => {
    const module = join(import.meta.dirname, '../dist/file-table.js');
    const script = `import('${module}').then((m) => { m.makeRoomForFiles(); console.log('made'); });`;
    const output = execFileSync('sh', ['-c', 'ulimit -n 100 && exec "$0" -e "$1"', process.execPath, script]);
    expect(output.toString()).toBe('made\n');
  });
});
