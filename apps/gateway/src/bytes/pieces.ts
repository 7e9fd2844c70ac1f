/**
 * This many pieces are merged into one. Each piece costs about a kilobyte of overhead, and a sender
 * may send one byte at a time.
 */
const MAX_PIECES = 64;

/** Collects bytes piece by piece. The caller bounds their total. */
export class Pieces {
  /**
   * A merged piece moves up one level. So few pieces are held, and each byte is copied only once
   * per level.
   */
  #levels: Buffer[][] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    this.#gather(piece, 0);
  }

  /** Returns all bytes as one buffer and forgets them. A single piece is not copied. */
  take(): Buffer {
    const pieces = this.#levels.reverse().flat();
    const all = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces, this.#bytes);
    this.#levels = [];
    this.#bytes = 0;
    return all;
  }

  #gather(piece: Buffer, level: number): void {
    const pieces = this.#levels[level] ?? [];
    this.#levels[level] = pieces;
    pieces.push(piece);
    if (pieces.length < MAX_PIECES) return;
    this.#levels[level] = [];
    this.#gather(Buffer.concat(pieces), level + 1);
  }
}
