import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { commitOf, keepRecord, type RunRecord, readRecords } from './records.ts';
import { report, writeReport } from './report.ts';
import { SCENARIOS } from './scenarios/index.ts';
import type { Outcome, Scenario } from './scenarios/scenario.ts';
import { Random } from './world/random.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RECORDS = fileURLToPath(new URL('./records.jsonl', import.meta.url));
const DOCUMENT = fileURLToPath(new URL('../../docs/reliability.md', import.meta.url));
const SHOWN = 20;
/** How many violations a record keeps: more than anyone reads, few enough for a file. */
const KEPT = 1_000;

const { values } = parseArgs({
  options: {
    scenario: { type: 'string', multiple: true },
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '1' },
    short: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    records: { type: 'string', default: RECORDS },
    list: { type: 'boolean', default: false },
  },
});

if (values.list) for (const { id, name } of SCENARIOS) say(`${id.padEnd(22)} ${name}`);
else if (values.report) writeReport(DOCUMENT, SCENARIOS, readRecords(values.records));
else process.exit(await attack());

async function attack(): Promise<number> {
  const wanted = values.scenario ?? SCENARIOS.map(({ id }) => id);
  const unknown = wanted.filter((id) => !SCENARIOS.some((scenario) => scenario.id === id));
  if (unknown.length > 0) throw new Error(`no such scenario: ${unknown.join(', ')}`);
  const records: RunRecord[] = [];
  for (const scenario of SCENARIOS.filter(({ id }) => wanted.includes(id))) {
    for (let i = 0; i < Number(values.runs); i++) {
      const record = await runOnce(scenario, Number(values.seed) + i);
      records.push(record);
      if (values.record) keepRecord(values.records, record);
    }
  }
  say(report(SCENARIOS, records));
  return records.some(({ violations }) => violations.length > 0) ? 1 : 0;
}

async function runOnce(scenario: Scenario, seed: number): Promise<RunRecord> {
  const startedMs = Date.now();
  const commit = commitOf(ROOT);
  const size = values.short ? 'short' : 'long';
  const outcome = await scenario
    .run(new Random(seed), size)
    .catch((error: Error): Outcome => ({ trials: 0, violations: [`broken off: ${error.stack}`] }));
  const seconds = Math.round((Date.now() - startedMs) / 1_000);
  const { trials, violations, notes } = outcome;
  say(
    `${scenario.id} seed ${seed}: ${trials} ${scenario.unit}, ${violations.length} violations, ${seconds} s`,
  );
  if (notes) say(`  ${notes}`);
  for (const violation of violations.slice(0, SHOWN)) say(`  VIOLATION ${violation}`);
  return {
    scenario: scenario.id,
    seed,
    size,
    at: new Date(startedMs).toISOString(),
    seconds,
    commit,
    ...outcome,
    violations: violations.slice(0, KEPT),
  };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
