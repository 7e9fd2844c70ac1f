// @ts-check
/*
 * Writes docs/metrics.md, the dashboards and the alert rules from the code. With --check it only
 * says what is out of date. It refuses expressions that use a metric or a label that no service
 * has, and alerts without a runbook.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { ALERTS } from './alerts.mjs';
import { DASHBOARDS, toGrafana } from './dashboards.mjs';
import { registered } from './registries.mjs';

/** @typedef {import('./registries.mjs').MetricInfo} MetricInfo */

const RUNBOOKS = 'docs/runbooks.md';
const root = new URL('../../', import.meta.url);
const pathOf = (/** @type {string} */ name) => fileURLToPath(new URL(name, root));
const read = (/** @type {string} */ name) => {
  try {
    return readFileSync(pathOf(name), 'utf8');
  } catch {
    return '';
  }
};

/** Labels that Prometheus adds, and those of expressions. */
const OTHER_LABELS = ['service', 'instance', 'job', 'le'];
const METRIC = /\b(?:tidegate|nodejs|process)_\w+/g;
/** `by (a, b)` and `{a="x",b!~"y"}`. */
const LABELS = /by \(([^)]*)\)|\{([^{}]*)\}/g;

/** @returns {string[]} what is wrong with an expression */
function problemsOf(/** @type {string} */ expr, /** @type {ReadonlyMap<string, MetricInfo>} */ known) {
  const infos = [];
  const problems = [];
  for (const [name] of expr.matchAll(METRIC)) {
    const info = known.get(name) ?? known.get(name.replace(/_(bucket|sum|count)$/, ''));
    if (info) infos.push(info);
    else problems.push(`there is no metric ${name}`);
  }
  const labels = new Set([...OTHER_LABELS, ...infos.flatMap(({ labels: of }) => of)]);
  for (const [, by, matchers] of expr.matchAll(LABELS))
    for (const part of (by ?? matchers ?? '').split(',')) {
      const label = part.trim().match(/^\w+/)?.[0];
      if (label && !labels.has(label)) problems.push(`no metric of ${expr} has the label ${label}`);
    }
  return problems;
}

/** Each alert must have a runbook, and each runbook an alert. */
function problemsOfRunbooks() {
  const sections = new Set([...read(RUNBOOKS).matchAll(/^## (\w+)$/gm)].map(([, name]) => name));
  const names = new Set(ALERTS.map(({ name }) => name));
  return [
    ...[...names].filter((name) => !sections.has(name)).map((name) => `${RUNBOOKS} has no section ${name}`),
    ...[...sections]
      .filter((name) => !names.has(name ?? ''))
      .map((name) => `${RUNBOOKS}: no alert is named ${name}`),
  ];
}

const made = (/** @type {object} */ content) =>
  `# Made by npm run observe.\n${stringify(content, { lineWidth: 0, aliasDuplicateObjects: false })}`;
const cell = (/** @type {string} */ text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const table = (/** @type {MetricInfo[]} */ infos) =>
  [
    '| metric | type | labels | meaning |',
    '|---|---|---|---|',
    ...infos.map(
      ({ name, type, labels, help }) =>
        `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${cell(help)} |`,
    ),
  ].join('\n');

function metricsDocument(/** @type {Record<string, MetricInfo[]>} */ { every, ...services }) {
  const sections = Object.entries(services).map(
    ([name, infos]) => `## ${name[0]?.toUpperCase()}${name.slice(1)}\n\n${table(infos)}`,
  );
  return `# Metrics

This page is made from the code, with \`npm run observe\`. Each service answers \`/metrics\` on its
\`ADMIN_PORT\`, in the format of Prometheus. All its series have the label \`service\`.

For your Prometheus there are [alert rules](../infra/observe/alerts.yml), for Grafana
[dashboards](../infra/observe/dashboards). Give the scrape jobs names that begin with \`tidegate\`.
[Runbooks](runbooks.md) say what to do about each alert. \`npm start -- --observe\` runs a Prometheus
with the local stack: the one on \`PATH\`, or that of Debian's or Ubuntu's packages.

The number of series is bounded. Labels come from closed sets, but for three. \`model\` (always with
\`org\`) has at most 200 values in each process: models beyond that share the series \`other\` of
counters and histograms, and gauges show those with the most requests. \`org\` alone is a label of the
ten organizations that have used most of their month. \`pool\` is the one pool of a runner. No label
holds a key, an address or content.

A gauge has no sample while its source is unavailable: an old value would look current.

${sections.join('\n\n')}

## Every service

${table(every ?? [])}
`;
}

const rules = {
  groups: [
    {
      name: 'tidegate',
      rules: ALERTS.map(({ name, expr, for: time, severity, summary }) => ({
        alert: name,
        expr,
        for: time,
        labels: { severity },
        annotations: { summary, runbook: `${RUNBOOKS}#${name.toLowerCase()}` },
      })),
    },
  ],
};

const KUBERNETES_RULE = {
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'PrometheusRule',
  metadata: { name: 'tidegate' },
  spec: rules,
};

const metrics = await registered();
const known = new Map(Object.values(metrics).flatMap((infos) => infos.map((info) => [info.name, info])));
const expressions = [
  ...ALERTS.map(({ expr }) => expr),
  ...Object.values(DASHBOARDS).flatMap(({ panels }) => panels.flatMap(([, , lines]) => Object.values(lines))),
];
/** @type {Record<string, string>} */
const files = {
  'docs/metrics.md': metricsDocument(metrics),
  'infra/observe/alerts.yml': made(rules),
  'infra/kubernetes/monitoring/alerts.yaml': made(KUBERNETES_RULE),
  ...Object.fromEntries(
    Object.keys(DASHBOARDS).map((id) => [
      `infra/observe/dashboards/${id}.json`,
      `${JSON.stringify(toGrafana(id), null, 2)}\n`,
    ]),
  ),
};
const problems = [...expressions.flatMap((expr) => problemsOf(expr, known)), ...problemsOfRunbooks()];
for (const [name, text] of Object.entries(files)) {
  if (read(name) === text) continue;
  if (process.argv.includes('--check')) problems.push(`${name} is out of date: npm run observe`);
  else writeFileSync(pathOf(name), text);
}
for (const problem of new Set(problems)) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
