import { expect, it } from '@jest/globals';
import fc from 'fast-check';

it('a property ends before Jest gives up on its test, and prints its counterexample', () => {
  const { interruptAfterTimeLimit, markInterruptAsFailure } = fc.readConfigureGlobal();
  expect(interruptAfterTimeLimit).toBe(120_000 * Number(process.env.TIDEGATE_TEST_CASES ?? 1));
  expect(markInterruptAsFailure).toBe(false);
});
