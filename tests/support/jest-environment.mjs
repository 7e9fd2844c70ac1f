import { AsyncLocalStorage } from 'node:async_hooks';
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

const { compileFunction, Script } = vm;
/**
 * Jest loads each CommonJS module again for each test file, with a function of its own for
 * `import()`, so that V8 has to compile it again. A script without one is compiled once a worker.
 */
vm.compileFunction = (code, params, options) => {
  if (code.startsWith('#!') || /\bimport\s*\(/.test(code)) return compileFunction(code, params, options);
  const head = `(function (${params.join()}) {`;
  const { filename, parsingContext } = options;
  return new Script(`${head}${code}\n})`, { filename, columnOffset: -head.length }).runInContext(
    parsingContext,
  );
};

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
