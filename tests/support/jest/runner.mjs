import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);
const { default: circus } = require('jest-circus/runner');
/** What the runner loads into the scope of the tests. */
const CIRCUS = join(dirname(require.resolve('jest-circus/package.json')), 'build/jestAdapterInit.js');
/** There it keeps the tests of a file, under a symbol with this description. */
const STATE = 'JEST_STATE_SYMBOL';
/** The functions that it calls for what happens to the tests, some of them for one file. */
const HANDLERS = Symbol.for('EVENT_HANDLERS');

/** @typedef {Record<string | symbol, any>} Bag */
/** @typedef {{ readonly symbol: symbol, readonly state: Bag, readonly handlers: unknown[] }} Initial */
/** @type {Initial | undefined} */
let initial;

/**
 * Runs a test file as if it were the first one in its scope, which it shares with others: see
 * environment.mjs.
 *
 * @param {any[]} args what jest gives a test runner
 */
export default async function runFile(...args) {
  const [, , { global }, runtime] = args;
  runtime.requireInternalModule(CIRCUS);
  initial ??= initialOf(global);
  global[initial.symbol] = copyOf(initial.state);
  global[HANDLERS].splice(0, Number.POSITIVE_INFINITY, ...initial.handlers);
  // Before this, the runtime is between two tests and refuses imports.
  runtime.enterTestCode();
  return circus(...args);
}

/** @param {Bag} global */
function initialOf(global) {
  const symbol = Object.getOwnPropertySymbols(global).find(({ description }) => description === STATE);
  if (!symbol || !global[HANDLERS])
    throw new Error('jest-circus keeps its state elsewhere than runner.mjs expects');
  return { symbol, state: copyOf(global[symbol]), handlers: [...global[HANDLERS]] };
}

/** Copies the state before a file has declared any test. @param {Bag} state @returns {Bag} */
function copyOf(state) {
  const root = { ...state.rootDescribeBlock, children: [], hooks: [], tests: [] };
  const copied = Object.entries(state).map(([name, value]) => [name, emptied(value)]);
  return { ...Object.fromEntries(copied), rootDescribeBlock: root, currentDescribeBlock: root };
}

/** Returns a new collection in place of one that is filled later. @param {any} value */
function emptied(value) {
  const isCollection = ['Array', 'Map', 'WeakMap'].includes(value?.constructor?.name);
  return isCollection ? new value.constructor() : value;
}
