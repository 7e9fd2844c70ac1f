import type { Readable } from 'node:stream';
import { Shredder } from '../bytes/moved-pieces.ts';

/**
 * 17 MiB/s. Even the largest body that the API takes is read to its end before its connection is
 * closed (`MAX_UNWANTED_MS`).
 */
const SLICE_BYTES = 2 ** 20;
const PAUSE_MS = 60;
/**
 * A smaller piece counts as this much: a sender may send one byte at a time, and each piece costs
 * this thread microseconds.
 */
const MIN_PIECE_BYTES = 1_024;
/** The most that one read of a connection brings. */
const READ_BYTES = 64 * 1024;

/**
 * Reads and discards the bodies of requests that are answered without them. All of them share one
 * rate limit: a caller may send many, and all callers share this thread. The bodies take turns. The
 * reading of a body ends with its connection.
 */
export class UnwantedBodies {
  readonly #after: (callback: () => void, ms: number) => unknown;
  /** The bodies that are not being read, the one that has waited longest first. */
  readonly #waiting = new Set<Readable>();
  readonly #shredder = new Shredder();
  #left = SLICE_BYTES;
  #nextIsDue = false;

  /** @param after calls back once. By default an unref'ed timer. */
  constructor(after: (callback: () => void, ms: number) => unknown = unrefTimer) {
    this.#after = after;
  }

  add(body: Readable): void {
    body.on('data', (piece: Buffer) => {
      this.#take(body, Math.max(MIN_PIECE_BYTES, piece.length));
      this.#shredder.shred(piece);
    });
    body.once('close', () => this.#waiting.delete(body));
    this.#take(body, 0);
    if (!this.#waiting.has(body)) body.resume();
  }

  #take(body: Readable, bytes: number): void {
    this.#left -= bytes;
    this.#callNext();
    if (this.#left > 0) return;
    body.pause();
    this.#waiting.add(body);
  }

  #next(): void {
    this.#nextIsDue = false;
    this.#left = SLICE_BYTES;
    let reads = SLICE_BYTES / READ_BYTES;
    for (const body of this.#waiting) {
      if (reads-- === 0) break;
      this.#waiting.delete(body);
      body.resume();
    }
    if (this.#waiting.size > 0) this.#callNext();
  }

  #callNext(): void {
    if (this.#nextIsDue) return;
    this.#nextIsDue = true;
    this.#after(() => this.#next(), PAUSE_MS);
  }
}

const unrefTimer = (callback: () => void, ms: number): unknown => setTimeout(callback, ms).unref();
