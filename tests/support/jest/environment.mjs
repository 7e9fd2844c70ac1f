import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';
import { onePerWorker } from './one-per-worker.mjs';

/**
 * The global scope of a jest worker. All its test files run in it, so that they share the modules
 * that they import: each is loaded once, and its code stays compiled and optimized. In jest's own
 * environment every file loads them anew.
 */
class WorkerEnvironment extends TestEnvironment {
  #exit;

  /** @param {ConstructorParameters<typeof TestEnvironment>} args */
  constructor(...args) {
    const { createContext } = vm;
    // Jest's own scope is a proxy, through which every use of a global takes some 100 times as
    // long.
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(...args);
    } finally {
      vm.createContext = createContext;
    }
    this.#exit = this.global.process.exit;
  }

  /** Puts back what a file, or jest for a file, has replaced. */
  async teardown() {
    this.fakeTimersModern?.useRealTimers();
    this.moduleMocker?.restoreAllMocks();
    this.global.process.exit = this.#exit;
  }
}

export default onePerWorker(WorkerEnvironment);
