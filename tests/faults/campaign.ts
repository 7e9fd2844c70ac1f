import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { SCENARIOS } from './scenarios/index.ts';
import type { Outcome, Scenario } from './scenarios/scenario.ts';
import { table } from './table.ts';
import { Random } from './world/random.ts';

const { values } = parseArgs({
  options: {
    scenario: { type: 'string', multiple: true },
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '1' },
    short: { type: 'boolean', default: false },
    out: { type: 'string' },
  },
});
const wanted = SCENARIOS.filter(({ name }) => !values.scenario || values.scenario.includes(name));
const firstSeed = Number(values.seed);
const results: { scenario: Scenario; seed: number; outcome: Outcome }[] = [];

for (const scenario of wanted) {
  for (let i = 0; i < Number(values.runs); i++) {
    const seed = firstSeed + i;
    const startedMs = Date.now();
    const outcome = await scenario
      .run(new Random(seed), values.short ? 'short' : 'long')
      .catch((error: Error): Outcome => ({ trials: 0, violations: [`broken off: ${error.stack}`] }));
    results.push({ scenario, seed, outcome });
    const seconds = Math.round((Date.now() - startedMs) / 1_000);
    say(
      `${scenario.name} seed ${seed}: ${outcome.trials} ${scenario.unit}, ${outcome.violations.length} violations, ${seconds} s`,
    );
    if (outcome.notes) say(`  ${outcome.notes}`);
    for (const violation of outcome.violations.slice(0, 20)) say(`  VIOLATION ${violation}`);
  }
}
const text = table(results);
say(text);
if (values.out) appendFileSync(values.out, `${text}\n`);
process.exit(results.some(({ outcome }) => outcome.violations.length > 0) ? 1 : 0);

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
