import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Refusal } from '@tidegate/contracts';
import { Piscina } from 'piscina';
import { type ParsedBody, parseBody } from './parse-body.ts';

export interface ParserOptions {
  /** Bodies from this size on are parsed in a worker thread, where they delay nobody's stream. */
  readonly workerBytes?: number;
  readonly maxThreads?: number;
  /** Large bodies waiting for a thread; beyond it requests are refused as busy. */
  readonly maxQueue?: number;
}

export interface Parser {
  /**
   * Steps 5 and 6. A large body's memory may move to the worker: the caller must not use it afterwards. Rejects only if a worker
   * dies.
   */
  parse(body: Buffer): Promise<ParsedBody>;
  /** Ends the threads; what is still being parsed rejects. */
  close(): Promise<void>;
}

const DEFAULTS = { workerBytes: 256 * 1024, maxThreads: 2, maxQueue: 32 };
const IDLE_THREAD_MS = 60_000;
/** A 20 MiB body at its most wasteful takes about a quarter of it. */
const WORKER_HEAP_MB = 512;

/** Threads are started when the first large body comes. */
export function createParser(options: ParserOptions = {}): Parser {
  const { workerBytes, maxThreads, maxQueue } = { ...DEFAULTS, ...options };
  const pool = new Piscina<Uint8Array, ParsedBody>({
    ...workerFile(),
    minThreads: 0,
    maxThreads,
    idleTimeout: IDLE_THREAD_MS,
    maxQueue,
    resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
    recordTiming: false,
  });
  return {
    parse: async (body) => {
      if (body.length < workerBytes) return parseBody(body);
      if (pool.queueSize >= maxQueue) return { ok: false, refusal: BUSY };
      const owned = ownMemory(body);
      return pool.run(owned, { transferList: [owned.buffer as ArrayBuffer] });
    },
    close: () => pool.destroy(),
  };
}

/**
 * The worker is the sibling of this file, built or not. Unbuilt (in tests), Node cannot read it by itself, and gets the
 * workspace's TypeScript loader.
 */
function workerFile(): { filename: string; execArgv?: string[] } {
  const extension = extname(import.meta.url);
  const filename = fileURLToPath(new URL(`./parse-worker${extension}`, import.meta.url));
  if (extension !== '.ts') return { filename };
  return { filename, execArgv: ['--import', new URL('../../typescript-worker.mjs', import.meta.url).href] };
}

/** Only a whole ArrayBuffer can be moved to another thread. */
function ownMemory(body: Buffer): Uint8Array {
  const whole = body.byteOffset === 0 && body.byteLength === body.buffer.byteLength;
  return whole ? new Uint8Array(body.buffer) : new Uint8Array(body);
}

const BUSY: Refusal = {
  code: 'rate_limit_exceeded',
  message: 'The API is busy: too many large requests at once.',
  retryAfterS: 1,
};
