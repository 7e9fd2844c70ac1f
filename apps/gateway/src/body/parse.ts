import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CompletionRequest, newRefusal, type Refusal } from '@tidegate/contracts';
import { Piscina } from 'piscina';
import { FairSemaphore } from './fair-semaphore.ts';
import { LoopTurns } from './loop-turns.ts';
import { parseBody } from './parse-body.ts';

export interface ParserOptions {
  /**
   * Bodies of at least this size are parsed in a worker thread, so that they do not delay streams.
   */
  readonly workerBytes?: number;
  readonly maxThreads?: number;
  /**
   * How many large bodies may wait for a thread. A request beyond this, or beyond its
   * organization's share of it, is refused as busy.
   */
  readonly maxWaiting?: number;
}

export interface Parser {
  /**
   * Steps 5 and 6. The memory of a large body may move to the worker, so the caller must not use
   * the body afterwards. Organizations take turns, at this thread as at the workers, and at this
   * thread none gets more than a third of the time. Rejects only if a worker dies or the parser is
   * closed.
   */
  parse(body: Buffer, orgId: string): Promise<CompletionRequest | Refusal>;
  /** Ends the threads. Bodies that are waiting or being parsed reject. */
  close(): Promise<void>;
}

/**
 * 32 KiB of the worst text take this thread 1 ms, which is as long as an organization may make the
 * others wait. 2,048 waiting bodies let each organization have 512, more than one key may have at
 * once. `ByteBudget` bounds their memory.
 */
const DEFAULTS = { workerBytes: 32 * 1024, maxThreads: 2, maxWaiting: 2_048 };
/** Smaller bodies cannot take long. */
const TIMED_BYTES = 4 * 1024;
const IDLE_THREAD_MS = 60_000;
/** The most wasteful 20 MiB body needs about a quarter of this. */
const WORKER_HEAP_MB = 512;

/** Starts no thread until the first large body arrives. */
export function createParser(options: ParserOptions = {}): Parser {
  const { workerBytes, maxThreads, maxWaiting } = { ...DEFAULTS, ...options };
  const pool = new Piscina<Uint8Array, CompletionRequest | Refusal>({
    ...workerFile(),
    minThreads: 0,
    maxThreads,
    idleTimeout: IDLE_THREAD_MS,
    resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
    recordTiming: false,
  });
  const turns = new LoopTurns();
  // The pool's own queue does not know organizations. `semaphore` therefore never gives it more
  // bodies than it has threads.
  const semaphore = new FairSemaphore({ permits: maxThreads, maxWaiting });
  return {
    parse: async (body, orgId) => {
      if (body.length < workerBytes) {
        const turn = turns.take(orgId, body.length);
        if (turn) await turn;
        if (body.length < TIMED_BYTES) return parseBody(body);
        const startedMs = performance.now();
        const parsed = parseBody(body);
        turns.took(orgId, performance.now() - startedMs);
        return parsed;
      }
      if (!(await semaphore.acquire(orgId))) return PARSERS_BUSY;
      try {
        const owned = ownMemory(body);
        return await pool.run(owned, { transferList: [owned.buffer as ArrayBuffer] });
      } finally {
        semaphore.release();
      }
    },
    close: () => {
      semaphore.close();
      return pool.destroy();
    },
  };
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

/**
 * Copies the body if necessary, because only a whole ArrayBuffer can be moved to another thread.
 */
function ownMemory(body: Buffer): Uint8Array {
  const whole = body.byteOffset === 0 && body.byteLength === body.buffer.byteLength;
  return whole ? new Uint8Array(body.buffer) : new Uint8Array(body);
}

const PARSERS_BUSY = newRefusal({
  code: 'rate_limit_exceeded',
  cause: 'busy',
  message: 'The API is busy: too many large requests at once.',
  retryAfterS: 1,
});
