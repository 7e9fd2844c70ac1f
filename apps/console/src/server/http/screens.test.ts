import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const CONSOLE = resolve(import.meta.dirname, '../../..');
const START = `
  const { startScreens } = await import(${JSON.stringify(`${CONSOLE}/dist/server/http/screens.js`)});
  await startScreens({ dir: ${JSON.stringify(CONSOLE)}, host: '127.0.0.1', port: 1 });
  process.exit();`;

it('the screens print nothing when they start, because each line of the log is JSON', async () => {
  const env = { PATH: process.env.PATH, NODE_ENV: 'production' };
  const args = ['--input-type=module', '-e', START];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: CONSOLE, env });
  expect(stdout + stderr).toBe('');
});
