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
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
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

/** Evaluates the expressions of a panel on series of a minute, a sample every 15 seconds. */
async function expectPanel(
  dashboard: string,
  title: string,
  series: Readonly<Record<string, string>>,
  expected: Readonly<Record<string, readonly object[]>>,
): Promise<void> {
  const file = fileURLToPath(new URL(`./observe/dashboards/${dashboard}.json`, import.meta.url));
  const { panels }: Dashboard = JSON.parse(readFileSync(file, 'utf8'));
  const targets = panels.find((panel) => panel.title === title)?.targets ?? [];
  expect(targets.map(({ legendFormat }) => legendFormat)).toEqual(Object.keys(expected));
  const test = {
    interval: '15s',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: targets.map(({ expr, legendFormat }) => ({
      expr: expr.replaceAll('$__rate_interval', '1m'),
      eval_time: '1m',
      exp_samples: expected[legendFormat],
    })),
  };
  const directory = mkdtempSync(join(tmpdir(), 'tidegate-panel-'));
  try {
    const tests = join(directory, 'tests.yml');
    writeFileSync(tests, JSON.stringify({ tests: [test] }));
    // What is wrong is in the error's message.
    await run(await getPromtool(), ['test', 'rules', tests]);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

it('models of the same name in two organizations are not taken for one, and gateways show their worst view', async () => {
  const replicas = (org: string, instance: string, state: string) =>
    `tidegate_gateway_model_replicas{org="${org}",model="m",state="${state}",instance="${instance}"}`;
  await expectPanel(
    'gateway',
    'Replicas',
    {
      [replicas('a', '1', 'usable')]: '2x4',
      [replicas('a', '1', 'ejected')]: '0x4',
      [replicas('a', '2', 'usable')]: '1x4',
      [replicas('a', '2', 'ejected')]: '1x4',
      [replicas('b', '1', 'usable')]: '3x4',
      [replicas('b', '1', 'ejected')]: '0x4',
    },
    {
      '{{org}} {{model}} usable': [
        { labels: '{org="a", model="m"}', value: 1 },
        { labels: '{org="b", model="m"}', value: 3 },
      ],
      '{{org}} {{model}} ejected': [
        { labels: '{org="a", model="m"}', value: 1 },
        { labels: '{org="b", model="m"}', value: 0 },
      ],
    },
  );
});

it('transactions of one settlement each have one settlement on average', async () => {
  const series = 'tidegate_metering_batch_rows';
  const all = '0+15x4';
  await expectPanel(
    'metering',
    'Settlements in a transaction, average',
    {
      [`${series}_bucket{le="1"}`]: all,
      [`${series}_bucket{le="+Inf"}`]: all,
      [`${series}_sum{}`]: all,
      [`${series}_count{}`]: all,
    },
    { rows: [{ value: 1 }] },
  );
});

it('each panel by model is also by organization', () => {
  const folder = fileURLToPath(new URL('./observe/dashboards', import.meta.url));
  const byModel = readdirSync(folder)
    .flatMap((name) => [...readFileSync(join(folder, name), 'utf8').matchAll(/by \(([^)]*)\)/g)])
    .map(([, labels]) => labels?.split(', ') ?? [])
    .filter((labels) => labels.includes('model'));
  expect(byModel.length).toBeGreaterThan(5);
  for (const labels of byModel) expect(labels).toContain('org');
});
