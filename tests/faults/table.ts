import type { Outcome, Scenario } from './scenarios/scenario.ts';

export interface Result {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly outcome: Outcome;
}

/** Markdown: a row for each scenario that was run. */
export function table(results: readonly Result[]): string {
  const lines = ['| laws | scenario | trials | seeds | violations |', '|---|---|---|---|---|'];
  for (const scenario of new Set(results.map((result) => result.scenario))) {
    const runs = results.filter((result) => result.scenario === scenario);
    const trials = runs.reduce((sum, { outcome }) => sum + outcome.trials, 0);
    const violations = runs.reduce((sum, { outcome }) => sum + outcome.violations.length, 0);
    const seeds = runs.map(({ seed }) => seed).join(', ');
    lines.push(
      `| ${scenario.laws} | ${scenario.name} | ${trials} ${scenario.unit} | ${seeds} | ${violations} |`,
    );
  }
  return lines.join('\n');
}
