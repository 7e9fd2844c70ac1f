// @ts-check
// npm test: sets up the checkout, then runs all checks. Arguments go to jest (npm test --
// packages/limits).
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { performance } from 'node:perf_hooks';
import { run } from './setup/run.mjs';
import { root, setUp } from './setup/setup.mjs';
import { createTerminal, printFailure } from './setup/terminal.mjs';

/**
 * @typedef {object} Total
 * @property {string} suite
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {number} seconds
 */

const results = join(root, '.local/test');
const jestResults = join(results, 'jest.json');
/** Read by .ci/run. It is removed first, so that it never shows an older run. */
const totalsFile = join(results, 'totals.json');

const bin = (/** @type {string} */ path) => join(root, 'node_modules', path);
/**
 * A type check that remembers what it found about unchanged files.
 *
 * @param {string} suite @param {string} project
 */
const typesOf = (suite, project) => ({
  suite,
  program: bin('typescript/bin/tsc'),
  args: [
    ...['--noEmit', '-p', project, '--incremental'],
    ...['--tsBuildInfoFile', join(results, `${suite}.tsbuildinfo`)],
  ],
});
/** Checks that only read. Each counts as one test. */
const STATIC_CHECKS = [
  { suite: 'lint', program: bin('@biomejs/biome/bin/biome'), args: ['check', '--colors=off', '.'] },
  // The build compiles without checking types.
  typesOf('types', 'tsconfig.json'),
  typesOf('types of the console', 'apps/console/tsconfig.json'),
  { suite: 'unused', program: bin('knip/bin/knip.js'), args: ['--no-progress'] },
  {
    suite: 'boundaries',
    program: bin('dependency-cruiser/bin/dependency-cruise.mjs'),
    args: ['--config', '.dependency-cruiser.cjs', 'apps', 'packages', 'infra', 'tests'],
  },
];
const JEST_OPTIONS = [
  '--experimental-vm-modules --disable-warning=ExperimentalWarning',
  // Most code of a test run ends before it would repay its optimization.
  `--require ${JSON.stringify(join(root, 'tests/support/late-optimization.cjs'))}`,
].join(' ');
/** Jest passes these on to its workers, which then spend less time in garbage collection. */
const NURSERY_OPTIONS = ['--min-semi-space-size=16', '--max-semi-space-size=32'];

const terminal = createTerminal(process.stdout);

/** Runs two checks at a time, one for each core. @returns {Promise<Total[]>} in their order */
async function runStaticChecks() {
  /** @type {Total[]} */
  const totals = [];
  const waiting = STATIC_CHECKS.entries();
  const lane = async () => {
    for (const [i, check] of waiting) totals[i] = await runStaticCheck(check);
  };
  await Promise.all([lane(), lane()]);
  return totals;
}

/** @param {typeof STATIC_CHECKS[number]} check @returns {Promise<Total>} */
async function runStaticCheck({ suite, program, args }) {
  const startedAt = performance.now();
  const { code, output } = await run(process.execPath, [program, ...args], { cwd: root });
  const failed = code === 0 ? 0 : 1;
  const seconds = (performance.now() - startedAt) / 1000;
  terminal.print(
    `  ${failed ? terminal.red('✗') : terminal.green('✓')} ${suite.padEnd(30)} ${seconds.toFixed(1).padStart(6)} s`,
  );
  if (failed) terminal.print(output.trimEnd().replace(/^/gm, '    '));
  return { suite, passed: 1 - failed, failed, skipped: 0, seconds };
}

/** @param {string[]} args @returns {Promise<Total[]>} by workspace */
async function runJest(args) {
  terminal.print();
  const { code } = await run(
    process.execPath,
    [...NURSERY_OPTIONS, bin('jest/bin/jest.js'), '--json', `--outputFile=${jestResults}`, ...args],
    {
      cwd: root,
      inherit: true,
      env: { NODE_OPTIONS: [process.env.NODE_OPTIONS, JEST_OPTIONS].filter(Boolean).join(' ') },
    },
  );
  const totals = jestTotals();
  // A run that failed although every test passed, or that ended before it could report, counts as
  // one failure.
  if (code !== 0 && !totals.some(({ failed }) => failed > 0)) {
    totals.push({ suite: 'jest itself', passed: 0, failed: 1, skipped: 0, seconds: 0 });
  }
  return totals;
}

/**
 * Checks the ids in the titles of the tests and, after a whole run, that every requirement is
 * proven. Imported late, because it needs libraries that the set-up installs.
 *
 * @param {boolean} whole @returns {Promise<Total>}
 */
async function runConformance(whole) {
  const { checkConformance } = await import('./conformance.mjs');
  const faults = checkConformance({ whole });
  if (faults.length > 0) terminal.print(`\n  ${terminal.red('✗')} conformance\n    ${faults.join('\n    ')}`);
  const failed = faults.length > 0 ? 1 : 0;
  return { suite: 'conformance', passed: 1 - failed, failed, skipped: 0, seconds: 0 };
}

/** @returns {Total[]} */
function jestTotals() {
  let report;
  try {
    report = JSON.parse(readFileSync(jestResults, 'utf8'));
  } catch {
    return [];
  }
  /** @type {Map<string, Total>} */
  const totals = new Map();
  for (const file of report.testResults) {
    const suite = relative(root, file.name)
      .split('/')
      .slice(0, 2)
      .join('/')
      .replace(/\/[^/]+\.test\.ts$/, '');
    const total = totals.get(suite) ?? { suite, passed: 0, failed: 0, skipped: 0, seconds: 0 };
    totals.set(suite, total);
    const count = (/** @type {string} */ status) =>
      file.assertionResults.filter((/** @type {{ status: string }} */ test) => test.status === status).length;
    const failed = count('failed');
    total.passed += count('passed');
    total.skipped += count('pending') + count('todo') + count('skipped') + count('disabled');
    // A file that could not run contains no tests, but has failed.
    total.failed += file.status === 'failed' && failed === 0 ? 1 : failed;
    total.seconds += Math.max(0, (file.endTime ?? 0) - (file.startTime ?? 0)) / 1000;
  }
  return [...totals.values()].sort((a, b) => (a.suite < b.suite ? -1 : 1));
}

/** @param {Total[]} totals */
function report(totals) {
  const sum = (/** @type {'passed' | 'failed' | 'skipped'} */ what) =>
    totals.reduce((n, total) => n + total[what], 0);
  const [passed, failed, skipped] = [sum('passed'), sum('failed'), sum('skipped')];
  writeFileSync(totalsFile, JSON.stringify({ passed, failed, skipped }));
  terminal.print(`\n  ${terminal.bold('suite'.padEnd(30))} passed  failed      time`);
  for (const { suite, seconds, ...total } of totals) {
    const failures = String(total.failed).padStart(7);
    terminal.print(
      `  ${suite.padEnd(30)} ${String(total.passed).padStart(6)} ${total.failed ? terminal.red(failures) : failures} ${seconds.toFixed(1).padStart(7)} s${total.skipped ? `  (${total.skipped} skipped)` : ''}`,
    );
  }
  terminal.print(`\n  ${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}\n`);
  return failed;
}

try {
  terminal.print(`\n  ${terminal.bold('Tidegate tests')}\n`);
  mkdirSync(results, { recursive: true });
  rmSync(totalsFile, { force: true });
  rmSync(jestResults, { force: true });
  await setUp(terminal, 'everything');
  const totals = await runStaticChecks();
  const args = process.argv.slice(2);
  totals.push(...(await runJest(args)));
  if (existsSync(jestResults)) totals.push(await runConformance(args.length === 0));
  process.exitCode = report(totals) > 0 ? 1 : 0;
} catch (error) {
  printFailure(terminal, error);
  process.exitCode = 1;
}
