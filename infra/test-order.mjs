import { relative } from 'node:path';
import TestSequencer from '@jest/test-sequencer';

/** Folders whose tests start whole stacks. */
const STACKS = /^(tests|infra\/local)\//;
/** Files that take less mostly compute. Those that take more mostly wait. */
const SHORT_MS = 4_000;
const LONG_MS = 25_000;

/**
 * Runs the tests that take longest first, because one that starts last leaves the other workers
 * idle. The short ones run between those of medium length: while some workers wait, others compute.
 */
export default class Mixed extends TestSequencer {
  /** @param {Parameters<TestSequencer['sort']>[0]} tests */
  sort(tests) {
    // Sets the durations that are known.
    const ordered = [...super.sort(tests)];
    const takingMs = (/** @type {number} */ from, /** @type {number} */ to) =>
      ordered.filter((test) => from <= durationOf(test) && durationOf(test) < to);
    const short = takingMs(0, SHORT_MS);
    const medium = takingMs(SHORT_MS, LONG_MS);
    const between = Math.ceil(short.length / (medium.length + 1));
    const mixed = medium.flatMap((test) => [test, ...short.splice(0, between)]);
    return [...takingMs(LONG_MS, Number.POSITIVE_INFINITY), ...mixed, ...short];
  }
}

/**
 * In milliseconds. Where no earlier run has measured it, tests of whole stacks count as long.
 *
 * @param {Parameters<TestSequencer['sort']>[0][number]} test
 */
function durationOf({ path, context, duration }) {
  return duration ?? (STACKS.test(relative(context.config.rootDir, path)) ? LONG_MS : 0);
}
