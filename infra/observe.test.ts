import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const generate = fileURLToPath(new URL('./observe/generate.mjs', import.meta.url));

/** What is wrong is in the error's message. */
it('the list of metrics, dashboards and alerts are as the services have it, and each alert has a runbook', async () => {
  const { stderr } = await promisify(execFile)(process.execPath, [generate, '--check']);
  expect(stderr).toBe('');
});
