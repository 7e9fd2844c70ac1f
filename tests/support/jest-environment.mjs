import { AsyncLocalStorage } from 'node:async_hooks';
import { TestEnvironment } from 'jest-environment-node';

/** @type {Set<AsyncLocalStorage<unknown>>} */
const used = new Set();
const { run, enterWith } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.run = function (...args) {
  used.add(this);
  return run.apply(this, args);
};
AsyncLocalStorage.prototype.enterWith = function (store) {
  used.add(this);
  enterWith.call(this, store);
};

/**
 * Turns off what a test file leaves on. Each file loads jest again, and jest keeps the running test
 * in an `AsyncLocalStorage`. On Node 20 each of those copies its value into every new promise until
 * it is disabled, so a worker's 80th file would run markedly slower than its first.
 */
export default class CleanEnvironment extends TestEnvironment {
  async teardown() {
    await super.teardown();
    for (const storage of used) storage.disable();
    used.clear();
  }
}
