/**
 * A queue of at most `capacity` values: one more drops the oldest. Each call takes the same time however many it holds,
 * which a Map or a Set deleted from at its front does not promise.
 */
export class Ring<T> {
  readonly #values: T[] = [];
  readonly #capacity: number;
  /** Where the oldest value is. */
  #first = 0;
  #size = 0;

  /** @param capacity at least 1 */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#size;
  }

  push(value: T): void {
    this.#values[(this.#first + this.#size) % this.#capacity] = value;
    if (this.#size < this.#capacity) this.#size++;
    else this.#first = (this.#first + 1) % this.#capacity;
  }

  /** Drops the oldest values for as long as they match. */
  dropWhile(matches: (value: T) => boolean): void {
    while (this.#size > 0 && matches(this.#values[this.#first] as T)) {
      // So that nothing keeps what was dropped from being collected.
      this.#values[this.#first] = undefined as T;
      this.#first = (this.#first + 1) % this.#capacity;
      this.#size--;
    }
  }

  /** Drops what does not match, wherever it is. */
  keep(matches: (value: T) => boolean): void {
    const kept = [...this].filter(matches);
    this.#values.length = 0;
    this.#values.push(...kept);
    this.#first = 0;
    this.#size = kept.length;
  }

  /** The oldest first. */
  *[Symbol.iterator](): Iterator<T> {
    for (let i = 0; i < this.#size; i++) yield this.#values[(this.#first + i) % this.#capacity] as T;
  }
}
