import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { findOrUnpack } from '@tidegate/embedded';

const PROMTOOL = { name: 'promtool', package: 'prometheus' };
/** The first time, a package of 19 MB is fetched. */
const FETCH_TIMEOUT_MS = 180_000;
const run = promisify(execFile);
const generate = fileURLToPath(new URL('./observe/generate.mjs', import.meta.url));

/** What is wrong is in the error's message. */
it('the list of metrics, dashboards and alerts are as the services have it, and each alert has a runbook', async () => {
  const { stderr } = await run(process.execPath, [generate, '--check']);
  expect(stderr).toBe('');
});

it(
  'the alert rules are what Prometheus takes, and fire when they should',
  async () => {
    const promtool = await findOrUnpack(
      PROMTOOL,
      fileURLToPath(new URL('../.local/prometheus-package', import.meta.url)),
    );
    const cwd = fileURLToPath(new URL('./observe', import.meta.url));
    // What is wrong is in the error's message.
    await run(promtool, ['check', 'rules', 'alerts.yml'], { cwd });
    const { stdout } = await run(promtool, ['test', 'rules', 'alerts.test.yml'], { cwd });
    expect(stdout).toContain('SUCCESS');
  },
  FETCH_TIMEOUT_MS,
);
