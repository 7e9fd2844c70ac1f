import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import type { Outcome } from './scenarios/scenario.ts';

/** One run of one scenario, stored as a line of JSON. */
export interface RunRecord extends Outcome {
  readonly scenario: string;
  readonly seed: number;
  readonly size: 'short' | 'long';
  /** When the run began, ISO 8601. */
  readonly at: string;
  readonly seconds: number;
  /** The commit that ran. Ends in `+` if there were uncommitted changes. */
  readonly commit: string;
}

const PROGRAMS = ['apps', 'packages', 'proto', 'infra'];

/** The commit of the checkout whose programs run. */
export function commitOf(root: string): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', ...PROGRAMS) !== '';
  return git('rev-parse', '--short=10', 'HEAD') + (changed ? '+' : '');
}

export const keepRecord = (file: string, record: RunRecord): void =>
  appendFileSync(file, `${JSON.stringify(record)}\n`);

export const readRecords = (file: string): RunRecord[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RunRecord);
