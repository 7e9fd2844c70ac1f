import { describe, expect, it } from '@jest/globals';
import { faultsOf, judge, render, unprovenIn } from './conformance.mjs';

const CATALOGUE = [{ section: 'All', requirements: [{ id: 'a.b', says: 'It holds.' }] }];

const found = (title: string, { file = 'tests/x', status = 'passed', within = [] as string[] } = {}) => ({
  file,
  title,
  status,
  ancestorTitles: within,
  fullName: [...within, title].join(' '),
});
const TESTS = [
  found('holds by day [a.b]', { within: ['it'] }),
  found('always', { file: 'tests/y', within: ['at night [a.b]'] }),
];
const rowOf = (tests: readonly ReturnType<typeof found>[]) => judge(CATALOGUE, tests)[0]?.rows[0];

describe('the page of conformance', () => {
  it('calls a requirement passed if its id is in the titles of tests or of describes, all of which passed', () => {
    expect(rowOf(TESTS)).toMatchObject({ tests: TESTS, result: 'passed' });
    expect(unprovenIn(judge(CATALOGUE, TESTS))).toEqual([]);
    for (const [status, result] of [
      ['failed', 'failed'],
      ['pending', 'not run'],
    ]) {
      const one = found('also [a.b]', { ...(status && { status }) });
      expect(rowOf([...TESTS, one])?.result).toBe(result);
      expect(unprovenIn(judge(CATALOGUE, [...TESTS, one]))).toEqual([`a.b: ${result}`]);
    }
  });

  it('counts a test for each of several ids, wherever its title has them', () => {
    const two = [{ section: 'Two', requirements: ['a.b', 'c.d-e.f_g'].map((id) => ({ id, says: 'Yes.' })) }];
    const test = found('with a row [a.b] is refused [c.d-e.f_g]');
    expect(judge(two, [test])[0]?.rows.map(({ tests }) => tests)).toEqual([[test], [test]]);
  });

  it('does not call a requirement proven whose id no title has', () => {
    for (const title of ['holds', 'holds a.b', 'holds[a.b]', 'holds [a.b.c]', 'holds [a]', 'holds [A.b]']) {
      expect(unprovenIn(judge(CATALOGUE, [found(title)]))).toEqual(['a.b has no test']);
    }
  });

  it('is not made while a title has an id that no requirement has', () => {
    expect(faultsOf(CATALOGUE, TESTS)).toEqual([]);
    for (const title of ['ends with [DONE]', 'is {"stop":["a.b"]}', 'is [1.5]', 'is a[b.c]'])
      expect(faultsOf(CATALOGUE, [found(title)])).toEqual([]);
    expect(faultsOf(CATALOGUE, [...TESTS, found('holds [a.c]')])).toEqual([
      'there is no requirement a.c: tests/x: holds [a.c]',
    ]);
    expect(faultsOf(CATALOGUE, [found('holds', { within: ['it [a.c]'] })])).toHaveLength(1);
  });

  it('is not made while requirements of the catalogue say nothing or are there twice', () => {
    expect(faultsOf([{ section: 'All', requirements: [{ id: 'a.b', says: '' }] }], [])).toEqual([
      'a.b says nothing',
    ]);
    expect(faultsOf([...CATALOGUE, ...CATALOGUE], [])).toEqual(['a.b occurs twice']);
  });

  it('says how many requirements hold, by which tests, and how each of them went', () => {
    const page = render(judge(CATALOGUE, TESTS));
    expect(page).toContain('Of 1 requirements');
    expect(page).toContain(
      '| `a.b` | It holds. | [x](../tests/x.test.ts): it holds by day<br>[y](../tests/y.test.ts): at night always | passed |',
    );
    const failed = found('fails [a.b]', { status: 'failed' });
    expect(render(judge(CATALOGUE, [failed]))).toContain('| [x](../tests/x.test.ts): fails | failed |');
  });

  it('has only the number of the tests where a describe has many', () => {
    const many = ['1', '2', '3', '4'].map((n) => found(`holds on day ${n} [a.b]`, { within: ['it'] }));
    const lineOf = (tests: typeof many) => render(judge(CATALOGUE, tests)).split('\n').at(-2);
    expect(lineOf(many)).toContain('| [x](../tests/x.test.ts): it (4 tests) |');
    expect(lineOf(many.slice(1))).toContain('it holds on day 4 |');
  });
});
