import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { faultsOf, judge, readCatalogue, render } from './conformance.mjs';

const PROVEN = { id: 'a.b', says: 'It holds.', tests: ['tests/x › it holds *', 'tests/y › always'] };
const catalogue = (...requirements: (typeof PROVEN)[]) => [{ section: 'All', requirements }];
const report = (status = 'passed') =>
  new Map([
    [
      'tests/x',
      [
        { fullName: 'it holds (by day)', status: 'passed' },
        { fullName: 'it holds (by night)', status },
      ],
    ],
    [
      'tests/y',
      [
        { fullName: 'always', status: 'passed' },
        { fullName: 'always not', status: 'failed' },
      ],
    ],
  ]);
const resultOf = (sections: ReturnType<typeof catalogue>, status?: string) =>
  judge(sections, report(status)).sections[0]?.rows[0]?.result;

describe('conformance', () => {
  it('is a requirement all of whose tests, and none of them missing, have passed', () => {
    expect(resultOf(catalogue(PROVEN))).toBe('passed');
    expect(judge(catalogue(PROVEN), report()).missing).toEqual([]);
    expect(resultOf(catalogue(PROVEN), 'failed')).toBe('failed');
    expect(resultOf(catalogue(PROVEN), 'pending')).toBe('not run');
  });

  it('is not of a requirement that names a test which does not exist', () => {
    for (const test of ['tests/x › it holds', 'tests/x › t holds *', 'tests/z › always', 'tests/y › .*s']) {
      const sections = catalogue({ ...PROVEN, tests: [...PROVEN.tests, test] });
      expect(resultOf(sections)).toBe('not run');
      expect(judge(sections, report()).missing).toEqual([`a.b: there is no test "${test}"`]);
    }
  });

  it('is not of a catalogue with requirements that nothing proves, or that are there twice', () => {
    expect(faultsOf(catalogue(PROVEN))).toEqual([]);
    expect(faultsOf(catalogue({ ...PROVEN, tests: [] }))).toEqual(['a.b has no test']);
    expect(faultsOf(catalogue({ ...PROVEN, says: '' }))).toEqual(['a.b says nothing']);
    expect(faultsOf(catalogue(PROVEN, PROVEN))).toEqual(['a.b is there twice']);
    expect(faultsOf(catalogue({ ...PROVEN, tests: ['always'] }))).toHaveLength(1);
  });

  it('is a page that says how many requirements hold, and how each of them went', () => {
    const page = render(judge(catalogue(PROVEN), report()).sections);
    expect(page).toContain('Of 1 requirements');
    expect(page).toContain(
      '| `a.b` | It holds. | [x](../tests/x.test.ts): it holds \\*<br>[y](../tests/y.test.ts): always | passed |',
    );
    expect(render(judge(catalogue(PROVEN), report('failed')).sections)).not.toBe(page);
  });

  it('is of a catalogue whose requirements all name tests in files that exist', () => {
    const sections = readCatalogue();
    expect(faultsOf(sections)).toEqual([]);
    const tests = sections.flatMap(({ requirements }) => requirements.flatMap((one) => one.tests));
    const files = new Set(tests.map((test) => `${test.split(' › ')[0]}.test.ts`));
    expect([...files].filter((file) => !existsSync(new URL(`../${file}`, import.meta.url)))).toEqual([]);
  });
});
