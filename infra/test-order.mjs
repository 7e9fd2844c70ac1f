import { relative } from 'node:path';
import TestSequencer from '@jest/test-sequencer';

/** Folders whose tests start whole stacks. */
const STACKS = /^(tests|infra\/local)\//;

/**
 * Runs the tests of whole stacks first, in jest's own order. They take longest, and one that starts
 * last leaves the other workers idle.
 */
export default class StacksFirst extends TestSequencer {
  /** @param {Parameters<TestSequencer['sort']>[0]} tests */
  sort(tests) {
    const ordered = [...super.sort(tests)];
    const ofStack = (/** @type {typeof ordered[number]} */ { path, context }) =>
      STACKS.test(relative(context.config.rootDir, path));
    return [...ordered.filter(ofStack), ...ordered.filter((test) => !ofStack(test))];
  }
}
