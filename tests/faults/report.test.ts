import { describe, expect, it } from '@jest/globals';
import type { RunRecord } from './records.ts';
import { report } from './report.ts';
import type { Scenario } from './scenarios/scenario.ts';

const scenario = (id: string): Scenario => ({
  id,
  name: `the ${id}`,
  laws: '1',
  unit: 'trials',
  run: () => Promise.reject(new Error('not run here')),
});

const record = (more: Partial<RunRecord>): RunRecord => ({
  scenario: 'kills',
  seed: 1,
  size: 'long',
  at: '2026-11-21T10:00:00Z',
  seconds: 9,
  commit: 'abc',
  trials: 40,
  violations: [],
  ...more,
});

describe('the report', () => {
  it('adds up runs of one scenario on one commit, keeps commits apart, and hides no violation', () => {
    const text = report(
      [scenario('kills'), scenario('pause')],
      [
        record({}),
        record({ seed: 2, violations: ['lost one\nwhere'] }),
        record({ seed: 3, commit: 'def+' }),
        record({ seed: 4, commit: 'long', violations: [`lost ${'one '.repeat(20)}`] }),
        record({ scenario: 'pause', figures: { seconds: 60, 'gateway MB': '1 > 2 > 1' } }),
      ],
    );
    expect(text.split('\n')).toEqual([
      '| laws | scenario | trials | seeds | violations | day | commit |',
      '| --- | --- | --- | --- | --- | --- | --- |',
      '| 1 | the kills | 80 trials | 1, 2 | 1 | 2026-11-21 | `abc` |',
      '| 1 | the kills | 40 trials | 3 | 0 | 2026-11-21 | `def+` |',
      '| 1 | the kills | 40 trials | 4 | 1 | 2026-11-21 | `long` |',
      '| 1 | the pause | 40 trials | 1 | 0 | 2026-11-21 | `abc` |',
      '',
      '| scenario | commit | seconds | gateway MB |',
      '| --- | --- | --- | --- |',
      '| the pause | `abc` | 60 | 1 > 2 > 1 |',
      '',
      '- the kills, seed 2, `abc`: 1, the first: lost one',
      `- the kills, seed 4, \`long\`: 1, the first: lost${' one'.repeat(12)}`,
      `  ${'one '.repeat(8).trim()}`,
    ]);
  });
});
