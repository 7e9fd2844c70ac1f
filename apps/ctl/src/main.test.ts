import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { itOnLinux } from '@tidegate/testing';

const MAIN = join(import.meta.dirname, '../dist/main.js');

/** Runs a command that prints its help. */
async function help(stdout: 'pipe' | number) {
  const child = spawn(process.execPath, [MAIN, 'help'], { stdio: ['ignore', stdout, 'pipe'] });
  child.stdout?.destroy();
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { err: await text(child.stderr as NonNullable<typeof child.stderr>), status: await ended };
}

it('fails without a stack trace if its reader has gone', async () => {
  expect(await help('pipe')).toEqual({ err: '', status: 1 });
});

itOnLinux(it)('says so if its output could not be written', async () => {
  const full = openSync('/dev/full', 'w');
  expect(await help(full)).toEqual({ err: 'The output could not be written (ENOSPC).\n', status: 1 });
  closeSync(full);
});
