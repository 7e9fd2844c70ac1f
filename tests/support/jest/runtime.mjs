import Runtime from 'jest-runtime';
import { onePerWorker } from './one-per-worker.mjs';

/** The modules that are loaded in a jest worker. See environment.mjs. */
class WorkerRuntime extends Runtime {
  /** The next file needs them. */
  teardown() {}
}

export default onePerWorker(WorkerRuntime);
