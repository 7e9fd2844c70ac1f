import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { findOrUnpack } from '@tidegate/embedded';

const PROMTOOL = { name: 'promtool', package: 'prometheus' };
const run = promisify(execFile);
const getPromtool = () =>
  findOrUnpack(PROMTOOL, fileURLToPath(new URL('../.local/prometheus-package', import.meta.url)));
const generate = fileURLToPath(new URL('./observe/generate.mjs', import.meta.url));

/** What is wrong is in the error's message. */
it('the list of metrics, the dashboards and the alerts match the services, and each alert has a runbook', async () => {
  const { stderr } = await run(process.execPath, [generate, '--check']);
  expect(stderr).toBe('');
});

it('Prometheus accepts the alert rules, and they fire when they should', async () => {
  const promtool = await getPromtool();
  const cwd = fileURLToPath(new URL('./observe', import.meta.url));
  // What is wrong is in the error's message.
  await run(promtool, ['check', 'rules', 'alerts.yml'], { cwd });
  const { stdout } = await run(promtool, ['test', 'rules', 'alerts.test.yml'], { cwd });
  expect(stdout).toContain('SUCCESS');
});

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
}

it('each expression of the dashboards is one that Prometheus understands', async () => {
  const promtool = await getPromtool();
  const folder = fileURLToPath(new URL('./observe/dashboards', import.meta.url));
  const expressions = readdirSync(folder).flatMap((name) => {
    const { panels }: Dashboard = JSON.parse(readFileSync(join(folder, name), 'utf8'));
    return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  });
  // Grafana puts a time in place of its variable.
  const rules = expressions.map((expr, i) => ({
    record: `expression:${i}`,
    expr: expr.replaceAll('$__rate_interval', '1m'),
  }));
  const directory = mkdtempSync(join(tmpdir(), 'tidegate-dashboards-'));
  try {
    const file = join(directory, 'rules.yml');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboards', rules }] }));
    const { stdout } = await run(promtool, ['check', 'rules', file]);
    expect(stdout).toContain(`SUCCESS: ${expressions.length} rules found`);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
