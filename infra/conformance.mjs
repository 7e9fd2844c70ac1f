// @ts-check
// docs/conformance.md: every requirement of the API's contract, the tests that prove it, and how they went. It is made from the
// catalogue in tests/conformance/requirements and from the report of a whole test run. npm test holds the page in docs against
// it; npm run conformance writes that page.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** @typedef {{ id: string, says: string, tests: readonly string[] }} Requirement */
/** @typedef {{ section: string, requirements: readonly Requirement[] }} Section */
/** @typedef {{ fullName: string, status: string }} TestResult by jest */
/** @typedef {ReadonlyMap<string, readonly TestResult[]>} Report by file, without `.test.ts` */
/** @typedef {'passed' | 'failed' | 'not run'} Result */
/** @typedef {{ section: string, rows: readonly (Requirement & { result: Result })[] }} JudgedSection */

const root = resolve(fileURLToPath(import.meta.url), '../..');
const catalogue = join(root, 'tests/conformance/requirements');
const jestReport = join(root, '.local/test/jest.json');
/** What the last run of npm test made. */
const madePage = join(root, '.local/test/conformance.md');
const page = join(root, 'docs/conformance.md');

/** Between a test's file and its name, in which * stands for anything. */
const SEPARATOR = ' › ';

/** @returns {Section[]} */
export function readCatalogue() {
  const files = readdirSync(catalogue).sort();
  return files.map((file) => parse(readFileSync(join(catalogue, file), 'utf8')));
}

/** @returns {Report} */
function readReport() {
  const { testResults } = JSON.parse(readFileSync(jestReport, 'utf8'));
  return new Map(
    testResults.map((/** @type {{ name: string, assertionResults: TestResult[] }} */ file) => [
      relative(root, file.name).replace(/\.test\.ts$/, ''),
      file.assertionResults,
    ]),
  );
}

/**
 * What is wrong with a catalogue by itself: a requirement without a test or without words, one that is there twice.
 *
 * @param {readonly Section[]} sections
 * @returns {string[]}
 */
export function faultsOf(sections) {
  const faults = [];
  const ids = new Set();
  for (const { id, says, tests } of sections.flatMap(({ requirements }) => requirements)) {
    if (ids.has(id)) faults.push(`${id} is there twice`);
    ids.add(id);
    if (!says) faults.push(`${id} says nothing`);
    if (!tests?.length) faults.push(`${id} has no test`);
    for (const test of tests ?? []) {
      if (!test.includes(SEPARATOR)) faults.push(`${id}: "${test}" names no file and test`);
    }
  }
  return faults;
}

/**
 * Each requirement's result: passed when all of its tests were found and passed.
 *
 * @param {readonly Section[]} sections @param {Report} report
 * @returns {{ sections: JudgedSection[], missing: string[] }} `missing`: the tests that are named and do not exist
 */
export function judge(sections, report) {
  /** @type {string[]} */
  const missing = [];
  const judged = sections.map(({ section, requirements }) => ({
    section,
    rows: requirements.map((requirement) => {
      const found = requirement.tests.map((test) => {
        const matching = findTests(report, test);
        if (matching.length === 0) missing.push(`${requirement.id}: there is no test "${test}"`);
        return matching;
      });
      return { ...requirement, result: resultOf(found) };
    }),
  }));
  return { sections: judged, missing };
}

/** @param {Report} report @param {string} test @returns {readonly TestResult[]} */
function findTests(report, test) {
  const at = test.indexOf(SEPARATOR);
  const pattern = test.slice(at + SEPARATOR.length);
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  const matches = new RegExp(`^${parts.join('.*')}$`, 's');
  return (report.get(test.slice(0, at)) ?? []).filter(({ fullName }) => matches.test(fullName));
}

/** @param {readonly (readonly TestResult[])[]} found @returns {Result} */
function resultOf(found) {
  const statuses = found.flatMap((tests) => tests.map(({ status }) => status));
  if (statuses.includes('failed')) return 'failed';
  const whole = found.every((tests) => tests.length > 0) && statuses.every((status) => status === 'passed');
  return whole ? 'passed' : 'not run';
}

/** @param {readonly JudgedSection[]} sections */
export function render(sections) {
  const rows = sections.flatMap((section) => section.rows);
  const passed = rows.filter(({ result }) => result === 'passed').length;
  return `${[
    '# Conformance',
    '',
    `Of ${rows.length} requirements of the API's contract, ${passed} are proven by the tests beside them, which all passed in the`,
    'test run that this page was made from. In a name of a test, `*` stands for anything: all tests of such a name belong to it.',
    '',
    '`npm test` fails when a requirement has no test or when this page is not what its run makes; `npm run conformance` writes it',
    'from the last whole run. The requirements are in `tests/conformance/requirements`. What is exchanged with a gateway in the tests',
    'of `tests/` is also held against [the description of the API](openapi.yaml).',
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
      `| \`${id}\` | ${cell(says)} | ${tests.map(renderTest).join('<br>')} | ${result} |`,
  ),
];

/** @param {string} test */
function renderTest(test) {
  const [file = '', ...name] = test.split(SEPARATOR);
  return `[${file.replace(/^(tests|apps|packages)\//, '').replace('/src/', '/')}](../${file}.test.ts): ${cell(name.join(SEPARATOR))}`;
}

/** Plain text in a table's cell. @param {string} text */
const cell = (text) => text.replace(/[\\`*_{}[\]<>|]/g, '\\$&');

/**
 * Makes the page from the report of the last run.
 *
 * @returns {string[]} why the page in docs is not right; empty: it is
 */
export function checkConformance() {
  const sections = readCatalogue();
  const faults = faultsOf(sections);
  if (faults.length > 0) return faults;
  if (!existsSync(jestReport)) return ['there is no report of a test run: npm test'];
  const { sections: judged, missing } = judge(sections, readReport());
  const made = render(judged);
  writeFileSync(madePage, made);
  if (missing.length > 0) return missing;
  const unproven = judged.flatMap(({ rows }) => rows).filter(({ result }) => result !== 'passed');
  if (unproven.length > 0) return unproven.map(({ id, result }) => `${id}: ${result}`);
  if (readPage() !== made) return ['docs/conformance.md is not what this run makes: npm run conformance'];
  return [];
}

const readPage = () => (existsSync(page) ? readFileSync(page, 'utf8') : '');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const stale = checkConformance();
  const others = stale.filter((fault) => !fault.startsWith('docs/conformance.md'));
  if (others.length === 0) writeFileSync(page, readFileSync(madePage));
  else process.stderr.write(`${others.join('\n')}\n`);
  process.exitCode = others.length > 0 ? 1 : 0;
}
