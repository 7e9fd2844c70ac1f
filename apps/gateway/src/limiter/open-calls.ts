/** A power of two. */
const MIN_SLOTS = 64;

/**
 * Holds the open calls by number, and gives out the numbers in sequence. Numbers wrap at 2^32. The
 * slots reach from the oldest open call to the newest one, so the owner must end old calls in time.
 *
 * In an array, because a Map has hidden costs here: see `LinkedList`.
 */
export class OpenCalls<T> {
  #slots: (T | undefined)[] = new Array(MIN_SLOTS).fill(undefined);
  /** These two keep counting past 2^32. */
  #oldest: number;
  #next: number;
  #size = 0;

  constructor(firstNumber = 1) {
    this.#oldest = firstNumber;
    this.#next = firstNumber;
  }

  get size(): number {
    return this.#size;
  }

  /** The number that `add` gives out next. */
  get nextNumber(): number {
    return this.#next >>> 0;
  }

  add(call: T): void {
    if (this.#next - this.#oldest === this.#slots.length) this.#grow();
    this.#slots[this.#next % this.#slots.length] = call;
    this.#next++;
    this.#size++;
  }

  /** Removes and returns a call. Undefined: none is open under this number. */
  take(number: number): T | undefined {
    const at = this.#oldest + ((number - this.#oldest) >>> 0);
    if (at >= this.#next) return undefined;
    const slot = at % this.#slots.length;
    const call = this.#slots[slot];
    if (call === undefined) return undefined;
    this.#slots[slot] = undefined;
    this.#size--;
    while (this.#oldest < this.#next && this.#slots[this.#oldest % this.#slots.length] === undefined)
      this.#oldest++;
    return call;
  }

  /** Removes the oldest call if it matches. */
  takeOldestIf(matches: (call: T) => boolean): T | undefined {
    const oldest = this.#slots[this.#oldest % this.#slots.length];
    return oldest !== undefined && matches(oldest) ? this.take(this.#oldest >>> 0) : undefined;
  }

  #grow(): void {
    const slots: (T | undefined)[] = new Array(this.#slots.length * 2).fill(undefined);
    for (let at = this.#oldest; at < this.#next; at++)
      slots[at % slots.length] = this.#slots[at % this.#slots.length];
    this.#slots = slots;
  }
}
