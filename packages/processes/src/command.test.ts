import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { itOnLinux } from '@tidegate/testing';
import { diesWithParent } from './command.ts';

const COMMAND = { command: 'server', args: ['--port', '1'], options: {} };
const path = process.env.PATH ?? '';
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-command-'));
  process.env.PATH = `${folder}${delimiter}${path}`;
});
afterEach(() => {
  process.env.PATH = path;
  rmSync(folder, { recursive: true, force: true });
});

const setpriv = (script: string): string => {
  const file = join(folder, 'setpriv');
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
};

describe('a command that dies with its parent', () => {
  const onLinux = itOnLinux(it);

  onLinux('is run by setpriv, which is asked once whether it can do that', async () => {
    const program = setpriv(`echo "$@" >> ${folder}/asked`);
    for (let i = 0; i < 2; i++)
      expect(await diesWithParent(COMMAND)).toEqual({
        ...COMMAND,
        command: program,
        args: ['--pdeathsig', 'INT', 'server', '--port', '1'],
      });
    expect(readFileSync(join(folder, 'asked'), 'utf8')).toBe('--pdeathsig INT true\n');
  });

  onLinux('stays as it is where setpriv is too old to do that', async () => {
    setpriv(`echo "setpriv: unrecognized option '--pdeathsig'" >&2; exit 1`);
    expect(await diesWithParent(COMMAND)).toEqual(COMMAND);
  });
});
