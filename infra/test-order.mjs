import { relative } from 'node:path';
import TestSequencer from '@jest/test-sequencer';

/** Folders whose tests start whole stacks. */
const STACKS = /^(tests|infra\/local)\//;

/**
 * Runs the tests that take longest first. Many of them wait more than they compute, and one that
 * starts last leaves the other workers idle. Where no earlier run has measured how long the tests
 * take, those of whole stacks are first.
 */
export default class LongestFirst extends TestSequencer {
  /** @param {Parameters<TestSequencer['sort']>[0]} tests */
  sort(tests) {
    // Sets the durations that are known.
    const ordered = [...super.sort(tests)];
    const isFirst = (/** @type {typeof ordered[number]} */ { path, context, duration }) =>
      duration === undefined && STACKS.test(relative(context.config.rootDir, path));
    return [...ordered.filter(isFirst), ...ordered.filter((test) => !isFirst(test))];
  }
}
