// @ts-check
/*
 * Writes the tables of docs/configuration.md from the schemas by which the programs read their
 * variables. With --check it only says what is out of date, and prints the variables as JSON. It
 * refuses variables that have no description.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { variables } from './schemas.mjs';

/** @typedef {import('./schemas.mjs').Variable} Variable */
/**
 * Defaults are by program.
 * @typedef {{ variable: Variable, defaults: ReadonlyMap<string, string> }} Row
 */

const DOCUMENT = 'docs/configuration.md';
const START = '<!-- made by npm run configuration -->';
const END = '<!-- end -->';
const path = fileURLToPath(new URL(`../../${DOCUMENT}`, import.meta.url));

function defaultOf(/** @type {Variable} */ { required, fallback }) {
  if (required) return '**needed**';
  const text = Array.isArray(fallback) ? fallback.join(',') : fallback;
  return text === undefined || text === '' || typeof text === 'object' ? '' : `\`${text}\``;
}

/**
 * A variable that several programs read and accept in the same way is one row, even if its defaults
 * differ.
 */
function rowsOf(/** @type {Record<string, Variable[]>} */ all) {
  /** @type {Map<string, { variable: Variable, defaults: Map<string, string> }>} */
  const rows = new Map();
  for (const [program, list] of Object.entries(all))
    for (const variable of list) {
      const { name, description, allowed, secret } = variable;
      const alike = JSON.stringify([name, description, allowed, secret]);
      const row = rows.get(alike) ?? { variable, defaults: new Map() };
      row.defaults.set(program, defaultOf(variable));
      rows.set(alike, row);
    }
  return [...rows.values()];
}

const cell = (/** @type {string} */ text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const nameOf = (/** @type {Variable} */ { name, secret }) =>
  secret ? `\`${name}\` or \`${name}_FILE\`` : `\`${name}\``;

function defaultsOf(/** @type {Row['defaults']} */ defaults) {
  const [first = '', ...others] = new Set(defaults.values());
  if (others.length === 0) return first;
  return [...defaults].map(([program, value]) => `${program} ${value}`).join(', ');
}

const tableOf = (/** @type {readonly string[]} */ head, /** @type {readonly (readonly string[])[]} */ rows) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n');

/** @returns {string} */
function tables(/** @type {Record<string, Variable[]>} */ all) {
  const rows = rowsOf(all);
  const head = ['default', 'allowed', 'what it does'];
  const restOf = (/** @type {Row} */ { variable: { allowed, description = '' }, defaults }) => [
    defaultsOf(defaults),
    allowed,
    description,
  ];
  const shared = rows.filter(({ defaults }) => defaults.size > 1);
  const sections = Object.keys(all).map((program) => {
    const own = rows.filter(({ defaults }) => defaults.size === 1 && defaults.has(program));
    const table = tableOf(
      ['variable', ...head],
      own.map((row) => [nameOf(row.variable), ...restOf(row)]),
    );
    return `### ${program[0]?.toUpperCase()}${program.slice(1)}\n\n${table}`;
  });
  const several = tableOf(
    ['variable', 'read by', ...head],
    shared.map((row) => [nameOf(row.variable), [...row.defaults.keys()].join(', '), ...restOf(row)]),
  );
  return [`### Several programs\n\n${several}`, ...sections].join('\n\n');
}

const all = await variables();
const problems = Object.entries(all).flatMap(([program, list]) =>
  list
    .filter(({ description }) => !description)
    .map(({ name }) => `${name} of ${program} has no description`),
);
const now = readFileSync(path, 'utf8');
const [before = '', after = ''] = [now.slice(0, now.indexOf(START)), now.slice(now.indexOf(END))];
const made = `${before}${START}\n\n${tables(all)}\n\n${after}`;
const checks = process.argv.includes('--check');
if (checks) process.stdout.write(JSON.stringify(all));
if (made !== now) {
  if (checks) problems.push(`${DOCUMENT} is out of date: npm run configuration`);
  else writeFileSync(path, made);
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
