/** So many pieces are made one: each costs a kilobyte of its own, and whoever sends may send a byte at a time. */
const MAX_PIECES = 64;

/** Bytes gathered piece by piece; how many is the caller's to bound. */
export class Pieces {
  /** What is made one moves a level up: few pieces are held, and a byte is copied only as often as there are levels. */
  #levels: Buffer[][] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    this.#gather(piece, 0);
  }

  /** All of them as one; a single piece is not copied. They are forgotten. */
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
