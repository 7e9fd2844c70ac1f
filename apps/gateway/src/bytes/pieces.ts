/**
 * This many small pieces are merged into one. Each piece costs about a kilobyte of overhead, and a
 * sender may send one byte at a time.
 */
const MAX_PIECES = 64;
/** A piece of this many bytes dwarfs its overhead, so it is kept as it is. */
const LARGE_BYTES = 16 * 1024;

/** Collects bytes piece by piece. The caller bounds their total. */
export class Pieces {
  #large: Buffer[] = [];
  /**
   * Small pieces that follow the large ones. A merged piece moves up one level, until it is large.
   * So few pieces are held, and each byte is copied only once per level.
   */
  #levels: Buffer[][] = [];
  #bytes = 0;

  /** How many bytes came since the last `take` or `takePieces`. */
  get bytes(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    this.#gather(piece, 0);
  }

  /** Removes and returns the large pieces so far. `bytes` still counts them. */
  takeLarge(): Buffer[] {
    const pieces = this.#large;
    this.#large = [];
    return pieces;
  }

  /** Returns all bytes as one buffer and forgets them. A single piece is not copied. */
  take(): Buffer {
    return joined(this.takePieces());
  }

  /** Returns the bytes in pieces, most of them large if there are many, and forgets them. */
  takePieces(): Buffer[] {
    this.#mergeSmall();
    this.#bytes = 0;
    return this.takeLarge();
  }

  #gather(piece: Buffer, level: number): void {
    if (piece.length >= LARGE_BYTES) {
      this.#mergeSmall();
      this.#large.push(piece);
      return;
    }
    const pieces = this.#levels[level] ?? [];
    this.#levels[level] = pieces;
    pieces.push(piece);
    if (pieces.length < MAX_PIECES) return;
    this.#levels[level] = [];
    this.#gather(Buffer.concat(pieces), level + 1);
  }

  #mergeSmall(): void {
    const pieces = this.#levels.reverse().flat();
    this.#levels = [];
    if (pieces.length > 0) this.#large.push(joined(pieces));
  }
}

/** All bytes of the pieces. A single piece is not copied. */
export function joined<P extends Uint8Array>(pieces: readonly P[]): P | Buffer {
  const [first] = pieces;
  return first && pieces.length === 1 ? first : Buffer.concat(pieces);
}
