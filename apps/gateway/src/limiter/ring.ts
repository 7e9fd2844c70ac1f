/**
 * A queue of at most `capacity` values. Pushing to a full queue drops the oldest value. `push`
 * takes constant time however many values there are. Deleting from the front of a Map or Set does
 * not guarantee that.
 */
export class Ring<T> {
  readonly #values: T[] = [];
  readonly #capacity: number;
  /** The index of the oldest value. */
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

  /** Drops values from the oldest on, as long as they match. */
  dropWhile(matches: (value: T) => boolean): void {
    while (this.#size > 0 && matches(this.#values[this.#first] as T)) {
      // Clear the slot so that the dropped value can be garbage collected.
      this.#values[this.#first] = undefined as T;
      this.#first = (this.#first + 1) % this.#capacity;
      this.#size--;
    }
  }

  /** Drops all values that do not match, wherever they are. */
  keep(matches: (value: T) => boolean): void {
    const kept = [...this].filter(matches);
    this.#values.length = 0;
    this.#values.push(...kept);
    this.#first = 0;
    this.#size = kept.length;
  }

  /** Oldest first. */
  *[Symbol.iterator](): Iterator<T> {
    for (let i = 0; i < this.#size; i++) yield this.#values[(this.#first + i) % this.#capacity] as T;
  }
}
