import { type CompletionRequest, isRefusal, newRefusal } from '@tidegate/contracts';
import { MovedPieces } from '../bytes/moved-pieces.ts';
import { joined } from '../bytes/pieces.ts';
import type { EarlyEnd } from '../ending.ts';
import { LoopTurns } from '../loop-turns.ts';
import { cooldownAfter, cooldownAfterRefusal } from './cooldown.ts';
import { FairSemaphore } from './fair-semaphore.ts';
import { parseBody } from './parse-body.ts';
import { ParsePool } from './parse-pool.ts';
import { BODY_BYTES_A_TURN, type Body, HUNG_UP } from './read-body.ts';
import { SlowBodies } from './slow-bodies.ts';

export interface ParserOptions {
  /**
   * Bodies of at least this size are parsed in a worker thread, so that they do not delay streams.
   */
  readonly workerBytes?: number;
  /**
   * A body that takes this thread at least this long counts as slow. When an organization's slow
   * bodies have used up their time, its smaller bodies go to a worker, too.
   */
  readonly slowMs?: number;
  /** A monotonic clock in ms. */
  readonly nowMs?: () => number;
  readonly maxThreads?: number;
  /**
   * How many bodies may wait for a thread. A request beyond this, or beyond its organization's
   * share of it, is refused as busy.
   */
  readonly maxWaiting?: number;
  /** Called if a worker could not start, or failed while it had no body. */
  readonly onPoolError?: (error: Error) => void;
}

export interface Parser {
  /**
   * Parses and validates a body (steps 5 and 6 of the pipeline). The memory of the body may move to
   * a worker, so the caller must not use it afterwards. Organizations take turns, both on this
   * thread and on the workers. An organization gets at most a third of one worker's time, or an
   * eleventh while its bodies are refused. Rejects only if a worker dies or cannot start, or if the
   * parser is closed meanwhile.
   *
   * @param signal called only if a worker parses the body. When the signal aborts, a body that
   *   still waits for the worker is dropped, and this resolves to an abort
   */
  parse(body: Body, orgId: string, signal?: () => AbortSignal): Promise<CompletionRequest | EarlyEnd>;
  /**
   * Must be called when a later step refuses a request that `parse` returned. If a worker parsed
   * it, the organization then cools down as long as after a body that `parse` refuses.
   */
  refused(request: CompletionRequest, orgId: string): void;
  /**
   * Ends the threads. Before that, the signals of all calls that wait for one must have aborted.
   */
  close(): Promise<void>;
}

/**
 * 32 KiB of the worst text take this thread 1 ms, which is as long as an organization may make the
 * others wait. 32 KiB of ordinary text take 0.2 ms. 2,048 waiting bodies let each organization have
 * 512, more than one key may have at once. `ByteBudget` bounds their memory.
 */
const DEFAULTS = {
  workerBytes: 32 * 1024,
  slowMs: 0.25,
  nowMs: () => performance.now(),
  maxThreads: 2,
  maxWaiting: 2_048,
  onPoolError: () => {},
};
/** Smaller bodies cannot be slow. */
const TIMED_BYTES = 4 * 1024;

/** Starts no thread until the first body for a worker arrives. */
export function createParser(options: ParserOptions = {}): Parser {
  const { workerBytes, slowMs, nowMs, maxThreads, maxWaiting, onPoolError } = { ...DEFAULTS, ...options };
  const pool = new ParsePool({ maxThreads, onError: onPoolError });
  const turns = new LoopTurns(BODY_BYTES_A_TURN);
  // The pool's own queue knows nothing about organizations. So `semaphore` never gives it more
  // bodies than it has threads.
  const semaphore = new FairSemaphore({ permits: maxThreads, maxWaiting });
  const slowBodies = new SlowBodies(nowMs);
  const parseHere = (body: Uint8Array, orgId: string) => {
    const startedMs = nowMs();
    const parsed = parseBody(body);
    const tookMs = nowMs() - startedMs;
    if (tookMs >= slowMs) slowBodies.add(orgId, tookMs);
    return parsed;
  };
  /** How long a worker was busy with each request. */
  const workerMs = new WeakMap<CompletionRequest, number>();
  const parseInWorker = async (body: Body, orgId: string, signalOf?: () => AbortSignal) => {
    const signal = signalOf?.();
    if (!(await semaphore.acquire(orgId, signal))) return signal?.aborted ? HUNG_UP : PARSERS_BUSY;
    let cooldownMs = 0;
    try {
      const done = await pool.run(body);
      cooldownMs = cooldownAfter(done);
      if (!isRefusal(done.parsed)) workerMs.set(done.parsed, done.tookMs);
      return done.parsed;
    } finally {
      semaphore.release(orgId, cooldownMs);
    }
  };
  return {
    parse: async (body, orgId, signal) => {
      const { pieces, bytes } = body;
      if (pieces instanceof MovedPieces)
        return parseInWorker(body, orgId, signal).finally(() => pieces.discard());
      if (bytes >= workerBytes) return parseInWorker(body, orgId, signal);
      const turn = turns.take(orgId, bytes);
      if (turn) await turn;
      if (bytes < TIMED_BYTES) return parseBody(joined(pieces));
      return slowBodies.isOverBudget(orgId)
        ? parseInWorker(body, orgId, signal)
        : parseHere(joined(pieces), orgId);
    },
    refused: (request, orgId) => {
      const ms = workerMs.get(request);
      if (ms !== undefined) semaphore.coolDown(orgId, cooldownAfterRefusal(ms));
    },
    close: () => pool.close(),
  };
}

const PARSERS_BUSY = newRefusal({
  code: 'rate_limit_exceeded',
  cause: 'busy',
  message: 'The API is busy: too many request bodies wait to be parsed.',
  retryAfterS: 1,
});
