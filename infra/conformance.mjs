// @ts-check
// Makes docs/conformance.md: every requirement of the API contract, the tests that prove it, and
// their results. The requirements are in tests/conformance/requirements. A test's title names those
// that it proves: `is refused [auth.reach] [service.reach]`. An id in the title of a describe block
// counts for all tests in it. npm test compares the page in docs with its own run, and npm run
// conformance writes that page.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** @typedef {{ id: string, says: string }} Requirement */
/** @typedef {{ section: string, requirements: readonly Requirement[] }} Section */
/**
 * @typedef {{
 *   ancestorTitles: readonly string[],
 *   title: string,
 *   fullName: string,
 *   status: string
 * }} JestResult
 */
/** @typedef {JestResult & { file: string }} Test `file`: without `.test.ts` */
/** @typedef {'passed' | 'failed' | 'not run'} Result */
/** @typedef {Requirement & { tests: readonly Test[], result: Result }} Row */
/** @typedef {{ section: string, rows: readonly Row[] }} JudgedSection */

const root = resolve(fileURLToPath(import.meta.url), '../..');
const catalogue = join(root, 'tests/conformance/requirements');
const jestReport = join(root, '.local/test/jest.json');
/** What the last run of npm test made. */
const madePage = join(root, '.local/test/conformance.md');
const page = join(root, 'docs/conformance.md');

/** An id in a title: a space, then words joined by dots in brackets. `[DONE]` is not one. */
const ID = / \[([a-z][\w-]*(?:\.[\w-]+)+)\]/g;
/**
 * If more tests than this in one describe block prove a requirement, the page shows only their
 * number.
 */
const MOST_TITLES = 3;

/** @returns {Section[]} */
function readCatalogue() {
  const files = readdirSync(catalogue).sort();
  return files.map((file) => parse(readFileSync(join(catalogue, file), 'utf8')));
}

/** @returns {{ tests: Test[], broken: string[] }} `broken`: the files that have no results */
function readReport() {
  /** @type {{ testResults: { name: string, assertionResults: JestResult[] }[] }} */
  const { testResults } = JSON.parse(readFileSync(jestReport, 'utf8'));
  const files = testResults.map(({ name, assertionResults }) => ({
    file: relative(root, name).replace(/\.test\.ts$/, ''),
    results: assertionResults,
  }));
  files.sort((one, other) => (one.file < other.file ? -1 : 1));
  return {
    tests: files.flatMap(({ file, results }) => results.map((result) => ({ ...result, file }))),
    broken: files.filter(({ results }) => results.length === 0).map(({ file }) => file),
  };
}

/**
 * Checks the catalogue, and the ids in the titles of these tests.
 *
 * @param {readonly Section[]} sections @param {readonly Test[]} tests
 * @returns {string[]} what is wrong
 */
export function faultsOf(sections, tests) {
  const faults = [];
  const ids = new Set();
  for (const { id, says } of sections.flatMap(({ requirements }) => requirements)) {
    if (ids.has(id)) faults.push(`${id} occurs twice`);
    ids.add(id);
    if (!says) faults.push(`${id} says nothing`);
  }
  for (const test of tests) {
    for (const id of idsOf(test)) {
      if (!ids.has(id)) faults.push(`there is no requirement ${id}: ${test.file}: ${test.fullName}`);
    }
  }
  return faults;
}

/** @param {Test} test */
const idsOf = ({ fullName }) => [...fullName.matchAll(ID)].map(([, id = '']) => id);

/**
 * Finds the tests of each requirement and their result.
 *
 * @param {readonly Section[]} sections @param {readonly Test[]} tests of a whole run
 * @returns {JudgedSection[]}
 */
export function judge(sections, tests) {
  /** @type {Map<string, Set<Test>>} */
  const proofs = new Map();
  for (const test of tests) {
    for (const id of idsOf(test)) proofs.set(id, (proofs.get(id) ?? new Set()).add(test));
  }
  return sections.map(({ section, requirements }) => ({
    section,
    rows: requirements.map((requirement) => {
      const proving = [...(proofs.get(requirement.id) ?? [])];
      return { ...requirement, tests: proving, result: resultOf(proving) };
    }),
  }));
}

/**
 * Passed: there are tests, and all of them passed.
 *
 * @param {readonly Test[]} tests
 * @returns {Result}
 */
function resultOf(tests) {
  const statuses = tests.map(({ status }) => status);
  if (statuses.includes('failed')) return 'failed';
  const whole = statuses.length > 0 && statuses.every((status) => status === 'passed');
  return whole ? 'passed' : 'not run';
}

/**
 * The requirements that are not proven.
 *
 * @param {readonly JudgedSection[]} sections
 * @returns {string[]}
 */
export function unprovenIn(sections) {
  const unproven = sections.flatMap(({ rows }) => rows).filter(({ result }) => result !== 'passed');
  return unproven.map(({ id, tests, result }) =>
    tests.length > 0 ? `${id}: ${result}` : `${id} has no test`,
  );
}

/** @param {readonly JudgedSection[]} sections */
export function render(sections) {
  const rows = sections.flatMap((section) => section.rows);
  const passed = rows.filter(({ result }) => result === 'passed').length;
  return `${[
    '# Conformance',
    '',
    `Of ${rows.length} requirements of the API's contract, ${passed} are proven by the tests beside them. All of`,
    'these tests passed in the test run that this page was made from. If many tests of one group prove a',
    'requirement, the page has the name of the group and the number of these tests.',
    '',
    'The requirements are in `tests/conformance/requirements`. A test has the ids of the requirements',
    'that it proves in its title. `npm test` fails when a requirement has no test, when a title has an',
    'unknown id, or when this page differs from what its run makes. `npm run conformance` writes the',
    'page from the last whole run. What the tests in `tests/` exchange with a gateway must also match',
    '[the description of the API](openapi.yaml).',
    ...sections.flatMap(renderSection),
  ].join('\n')}\n`;
}

/** @param {JudgedSection} section */
const renderSection = ({ section, rows }) => [
  '',
  `## ${section}`,
  '',
  '| requirement | | tests | result |',
  '|---|---|---|---|',
  ...rows.map(
    ({ id, says, tests, result }) =>
      `| \`${id}\` | ${cell(says)} | ${renderTests(tests).join('<br>')} | ${result} |`,
  ),
];

/** @param {readonly Test[]} tests */
function renderTests(tests) {
  /** @type {Map<string, { file: string, group: string, titles: string[] }>} */
  const groups = new Map();
  for (const { file, ancestorTitles, title } of tests) {
    const key = JSON.stringify([file, ...ancestorTitles]);
    const { titles } = groups.get(key) ?? { titles: [] };
    groups.set(key, { file, group: ancestorTitles.join(' '), titles: [...titles, title] });
  }
  return [...groups.values()].flatMap(({ file, group, titles }) => {
    const link = `[${file.replace(/^(tests|apps|packages)\//, '').replace('/src/', '/')}](../${file}.test.ts)`;
    const names = titles.length > MOST_TITLES ? [`(${titles.length} tests)`] : titles;
    return names.map((name) => `${link}: ${cell(`${group} ${name}`.replace(ID, '').trim())}`);
  });
}

/** Plain text in a table's cell. @param {string} text */
const cell = (text) => text.replace(/[\\`*_{}[\]<>|]/g, '\\$&').replace(/\s+/g, ' ');

/**
 * Checks the last run. After a whole run, also makes the page from its report.
 *
 * @param {{ whole: boolean }} run
 * @returns {string[]} what is wrong with the titles, the requirements or the page in docs
 */
export function checkConformance({ whole }) {
  if (!existsSync(jestReport)) return ['there is no report of a test run: npm test'];
  const sections = readCatalogue();
  const { tests, broken } = readReport();
  const faults = faultsOf(sections, tests);
  if (!whole || faults.length > 0) return faults;
  const judged = judge(sections, tests);
  const made = render(judged);
  writeFileSync(madePage, made);
  const missing = [...broken.map((file) => `${file} has no results`), ...unprovenIn(judged)];
  if (missing.length > 0) return missing;
  if (readPage() !== made) return [STALE];
  return [];
}

const STALE = 'docs/conformance.md does not match this run: npm run conformance';
const readPage = () => (existsSync(page) ? readFileSync(page, 'utf8') : '');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const faults = checkConformance({ whole: true }).filter((fault) => fault !== STALE);
  if (faults.length === 0) writeFileSync(page, readFileSync(madePage));
  else process.stderr.write(`${faults.join('\n')}\n`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
