/** So many pieces are made one: each costs memory of its own, and a model may send a byte at a time. */
const MAX_PIECES = 1_024;

/** Bytes gathered piece by piece; how many is the caller's to bound. */
export class Pieces {
  #pieces: Buffer[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#pieces.length >= MAX_PIECES) this.#pieces = [Buffer.concat(this.#pieces, this.#bytes)];
  }

  /** All of them as one; a single piece is not copied. They are forgotten. */
  take(): Buffer {
    const all =
      this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces, this.#bytes);
    this.#pieces = [];
    this.#bytes = 0;
    return all;
  }
}
