import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Refusal } from '@tidegate/contracts';
import { Piscina } from 'piscina';
import { type ParsedBody, parseBody } from './parse-body.ts';
import { Turns } from './turns.ts';

export interface ParserOptions {
  /** Bodies from this size on are parsed in a worker thread, where they delay nobody's stream. */
  readonly workerBytes?: number;
  readonly maxThreads?: number;
  /** Large bodies waiting for a thread; beyond it, or beyond its organization's part of it, a request is refused as busy. */
  readonly maxWaiting?: number;
}

export interface Parser {
  /**
   * Steps 5 and 6. A large body's memory may move to the worker: the caller must not use it afterwards. Rejects only if a worker
   * dies. Organizations whose large bodies wait for a thread take turns.
   */
  parse(body: Buffer, orgId: string): Promise<ParsedBody>;
  /** Ends the threads; what waits or is still being parsed rejects. */
  close(): Promise<void>;
}

/** Of the places to wait an organization has 32: a burst of its bodies finds room. Their memory is bounded elsewhere. */
const DEFAULTS = { workerBytes: 256 * 1024, maxThreads: 2, maxWaiting: 128 };
const IDLE_THREAD_MS = 60_000;
/** A 20 MiB body at its most wasteful takes about a quarter of it. */
const WORKER_HEAP_MB = 512;

/** Threads are started when the first large body comes. */
export function createParser(options: ParserOptions = {}): Parser {
  const { workerBytes, maxThreads, maxWaiting } = { ...DEFAULTS, ...options };
  const pool = new Piscina<Uint8Array, ParsedBody>({
    ...workerFile(),
    minThreads: 0,
    maxThreads,
    idleTimeout: IDLE_THREAD_MS,
    resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
    recordTiming: false,
  });
  // The pool's own queue knows no organizations: it never gets more than its threads can take up.
  const turns = new Turns({ atOnce: maxThreads, maxWaiting });
  return {
    parse: async (body, orgId) => {
      if (body.length < workerBytes) return parseBody(body);
      if (!(await turns.take(orgId))) return { ok: false, refusal: BUSY };
      try {
        const owned = ownMemory(body);
        return await pool.run(owned, { transferList: [owned.buffer as ArrayBuffer] });
      } finally {
        turns.end();
      }
    },
    close: () => {
      turns.close();
      return pool.destroy();
    },
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
  cause: 'busy',
  message: 'The API is busy: too many large requests at once.',
  retryAfterS: 1,
};
