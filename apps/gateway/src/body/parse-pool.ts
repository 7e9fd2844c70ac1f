import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TransferListItem } from 'node:worker_threads';
import { ArrayTaskQueue, Piscina } from 'piscina';
import { MovedPieces, ownMemory } from '../bytes/moved-pieces.ts';
import type { WorkerBody, WorkerResult } from './parse-worker.ts';
import type { Body } from './read-body.ts';

const IDLE_THREAD_MS = 60_000;
/** The most wasteful 20 MiB body needs about a quarter of this. */
const WORKER_HEAP_MB = 512;

/** What a worker runs, and Node's options for it. */
interface WorkerProgram {
  readonly filename: string;
  readonly execArgv?: string[];
}

export interface ParsePoolOptions {
  readonly maxThreads: number;
  /** Called if a worker could not start, or failed while it had no body. */
  readonly onError: (error: Error) => void;
  /** Default: `parse-worker`. */
  readonly worker?: WorkerProgram;
}

/** The threads that parse bodies. Starts none until the first body arrives. */
export class ParsePool {
  readonly #options: ParsePoolOptions;
  #pool: Piscina<WorkerBody, WorkerResult>;

  constructor(options: ParsePoolOptions) {
    this.#options = options;
    this.#pool = this.#create();
  }

  /** Rejects if the worker dies or cannot start, or if the pool is closed. */
  async run(body: Body): Promise<WorkerResult> {
    const { tasks } = this.#pool.options.taskQueue as ArrayTaskQueue;
    const { length } = tasks;
    try {
      return this.#pool.run(...messageOf(body));
    } catch (error) {
      // The system has no threads left. The body would stay in the queue and reject when the pool
      // ends. Nobody would handle that rejection, and it would end the process.
      tasks.length = length;
      this.#options.onError(error as Error);
      throw error;
    }
  }

  /** Ends the threads. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }

  #create(): Piscina<WorkerBody, WorkerResult> {
    const { maxThreads, worker = parseWorker() } = this.#options;
    const pool = new Piscina<WorkerBody, WorkerResult>({
      ...worker,
      taskQueue: new ArrayTaskQueue(),
      minThreads: 0,
      maxThreads,
      idleTimeout: IDLE_THREAD_MS,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
      recordTiming: false,
    });
    // Without a listener, the error would end the process.
    pool.on('error', (error: Error) => this.#replace(pool, error));
    return pool;
  }

  /**
   * Piscina keeps the bodies that were waiting for a worker that could not start, even if no other
   * worker comes. Destroying the pool makes them reject.
   */
  #replace(pool: Piscina, error: Error): void {
    this.#options.onError(error);
    if (this.#pool !== pool) return;
    this.#pool = this.#create();
    void pool.destroy();
  }
}

/** What a worker gets, and the memory that moves to it. */
function messageOf({ pieces, bytes }: Body): [WorkerBody, { transferList: TransferListItem[] }] {
  if (pieces instanceof MovedPieces) {
    const { port } = pieces;
    return [{ port, bytes }, { transferList: [port] }];
  }
  const owned = pieces.map(ownMemory);
  return [owned, { transferList: owned.map(({ buffer }) => buffer as ArrayBuffer) }];
}

/**
 * The worker is the sibling of this file, compiled or not. Node cannot run the TypeScript source by
 * itself, so tests add the workspace's TypeScript loader.
 */
function parseWorker(): WorkerProgram {
  const extension = extname(import.meta.url);
  const filename = fileURLToPath(new URL(`./parse-worker${extension}`, import.meta.url));
  if (extension !== '.ts') return { filename };
  return { filename, execArgv: ['--import', new URL('../../typescript-worker.mjs', import.meta.url).href] };
}
