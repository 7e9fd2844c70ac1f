import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TransferListItem } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { MovedPieces, ownMemory } from '../bytes/moved-pieces.ts';
import type { WorkerBody, WorkerResult } from './parse-worker.ts';
import type { Body } from './read-body.ts';

const IDLE_THREAD_MS = 60_000;
/** The most wasteful 20 MiB body needs about a quarter of this. */
const WORKER_HEAP_MB = 512;

export interface ParsePoolOptions {
  readonly maxThreads: number;
  /** A worker failed that had no body, usually because it could not start. */
  readonly onError: (error: Error) => void;
  /** What a worker runs. Default: `parse-worker`. */
  readonly filename?: string;
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
  run(body: Body): Promise<WorkerResult> {
    return this.#pool.run(...messageOf(body));
  }

  /** Ends the threads. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }

  #create(): Piscina<WorkerBody, WorkerResult> {
    const { maxThreads, filename } = this.#options;
    const pool = new Piscina<WorkerBody, WorkerResult>({
      ...workerFile(),
      ...(filename && { filename }),
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
   * Piscina keeps the bodies that waited for a worker that could not start, even if no other one
   * comes. Destroying the pool makes them reject.
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
function workerFile(): { filename: string; execArgv?: string[] } {
  const extension = extname(import.meta.url);
  const filename = fileURLToPath(new URL(`./parse-worker${extension}`, import.meta.url));
  if (extension !== '.ts') return { filename };
  return { filename, execArgv: ['--import', new URL('../../typescript-worker.mjs', import.meta.url).href] };
}
