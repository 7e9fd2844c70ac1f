/**
 * What tests get as `fast-check` (see moduleNameMapper in jest.config.mjs). A property that fails
 * may shrink its counterexample for long. It stops in time to print the smallest one so far before
 * Jest gives up on the test. A property that is only slow, on a busy machine, ends with the cases
 * that it has tried.
 */
import fc from '../../node_modules/fast-check/lib/fast-check.js';

const HALF_OF_TEST_TIMEOUT_MS = 120_000;

fc.configureGlobal({
  // More cases, on demand, have more time.
  interruptAfterTimeLimit: HALF_OF_TEST_TIMEOUT_MS * Number(process.env.TIDEGATE_TEST_CASES ?? 1),
  markInterruptAsFailure: false,
});

export * from '../../node_modules/fast-check/lib/fast-check.js';
export default fc;
