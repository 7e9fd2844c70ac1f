import { readFileSync, writeFileSync } from 'node:fs';
import type { RunRecord } from './records.ts';
import type { Scenario } from './scenarios/scenario.ts';

const BEGIN = '<!-- results: written by npm run faults -- --report -->';
const END = '<!-- end of results -->';

/**
 * Writes the tables of these records into the document. The text around them is written by hand.
 */
export function writeReport(
  path: string,
  scenarios: readonly Scenario[],
  records: readonly RunRecord[],
): void {
  const text = readFileSync(path, 'utf8');
  const [before, after] = [text.split(BEGIN)[0], text.split(END)[1]];
  if (before === text || before === undefined || after === undefined)
    throw new Error(`${path} has no place for results`);
  writeFileSync(path, `${before}${BEGIN}\n\n${report(scenarios, records)}\n\n${END}${after}`);
}

/**
 * Renders Markdown: a row for each scenario and commit, the figures that were measured, and every
 * violation.
 */
export function report(scenarios: readonly Scenario[], records: readonly RunRecord[]): string {
  return [table(scenarios, records), figures(scenarios, records), violations(scenarios, records)]
    .filter((part) => part !== '')
    .join('\n\n');
}

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
const head = (cells: readonly string[]): string[] => [row(cells), row(cells.map(() => '---'))];

/** Groups the runs by scenario, in the scenarios' order, and by commit. */
function* groups(scenarios: readonly Scenario[], records: readonly RunRecord[]) {
  for (const scenario of scenarios) {
    const runs = records.filter((record) => record.scenario === scenario.id);
    for (const commit of new Set(runs.map((run) => run.commit)))
      yield { scenario, commit, runs: runs.filter((run) => run.commit === commit) };
  }
}

function table(scenarios: readonly Scenario[], records: readonly RunRecord[]): string {
  const lines = head(['laws', 'scenario', 'trials', 'seeds', 'violations', 'day', 'commit']);
  for (const { scenario, commit, runs } of groups(scenarios, records)) {
    const trials = runs.reduce((sum, run) => sum + run.trials, 0);
    const wrong = runs.reduce((sum, run) => sum + run.violations.length, 0);
    const days = [...new Set(runs.map(({ at }) => at.slice(0, 10)))].join(', ');
    const seeds = runs.map(({ seed }) => seed).join(', ');
    lines.push(
      row([scenario.laws, scenario.name, `${trials} ${scenario.unit}`, seeds, wrong, days, `\`${commit}\``]),
    );
  }
  return lines.join('\n');
}

function figures(scenarios: readonly Scenario[], records: readonly RunRecord[]): string {
  const measured = records.filter((record) => record.figures !== undefined);
  const columns = [...new Set(measured.flatMap((record) => Object.keys(record.figures ?? {})))];
  if (columns.length === 0) return '';
  const lines = head(['scenario', 'commit', ...columns]);
  for (const { scenario, commit, runs } of groups(scenarios, measured)) {
    for (const { figures = {} } of runs)
      lines.push(row([scenario.name, `\`${commit}\``, ...columns.map((column) => figures[column] ?? '')]));
  }
  return lines.join('\n');
}

function violations(scenarios: readonly Scenario[], records: readonly RunRecord[]): string {
  const lines: string[] = [];
  for (const { scenario, commit, runs } of groups(scenarios, records)) {
    for (const run of runs) {
      const [first] = run.violations;
      if (first === undefined) continue;
      const text = first.split('\n')[0];
      lines.push(
        wrap(
          `- ${scenario.name}, seed ${run.seed}, \`${commit}\`: ${run.violations.length}, the first: ${text}`,
        ),
      );
    }
  }
  return lines.join('\n');
}

/** Wraps an item of a list, as documents wrap. */
const wrap = (item: string): string => item.replace(/(.{1,97})(?: |$)/g, '$1\n  ').trimEnd();
