import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { greet, type Terminal } from './launcher.ts';

const same = (text: string) => text;

/** The command that is named for managing a stack kept in a folder. */
function named(dataDir: string): string {
  const lines: string[] = [];
  const print = (text = '') => void lines.push(text);
  const terminal: Terminal = {
    ...{ phase: (_title, work) => work(() => {}), print },
    ...{ bold: same, dim: same, red: same, green: same, cyan: same },
  };
  const nothing = { console: null, owner: null, org: null, apiKey: null, models: [], services: [] };
  greet({ info: { gateway: '', gateways: [], redis: '', postgres: '', ...nothing }, dataDir }, terminal);
  return /Manage it with (.+)\. Ctrl-C/.exec(lines.join('\n'))?.[1] ?? '';
}

describe('a start says how to manage the stack', () => {
  it('by the plain command when it is kept in the default folder', () => {
    expect(named(resolve(import.meta.dirname, '../../../.local'))).toBe('npm run -s ctl -- --help');
  });

  it.each(['/srv/tide gate', "/srv/o'neil", '/srv/$HOME'])('by one that tells the folder %s', (dataDir) => {
    const said = named(dataDir).replace('npm run -s ctl -- --help', 'printenv TIDEGATE_DATA_DIR');
    expect(execFileSync('sh', ['-c', said], { encoding: 'utf8' })).toBe(`${dataDir}\n`);
  });
});
