/** The fields that a `LinkedList` keeps in its values. Only the list writes them. */
export interface Linked<T> {
  previous: T | null;
  next: T | null;
  listed: boolean;
}

/**
 * Values in the order in which they were added, each at most once and in one list only.
 *
 * For values that come and go with each request. A Map or Set moves to another table every few
 * deletions, and V8 links the old one to the new one. Once one of these tables is in the old
 * generation, each scavenge copies everything that any of them contained: here, whole requests that
 * have long ended.
 */
export class LinkedList<T extends Linked<T>> {
  #first: T | null = null;
  #last: T | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(value: T): void {
    if (value.listed) return;
    value.listed = true;
    value.previous = this.#last;
    if (this.#last) this.#last.next = value;
    else this.#first = value;
    this.#last = value;
    this.#size++;
  }

  /** Clears the value's links, so that it keeps no other value in memory. */
  delete(value: T): void {
    if (!value.listed) return;
    if (value.previous) value.previous.next = value.next;
    else this.#first = value.next;
    if (value.next) value.next.previous = value.previous;
    else this.#last = value.previous;
    value.listed = false;
    value.previous = null;
    value.next = null;
    this.#size--;
  }

  /** Yields the values that are in the list both when the loop begins and when it reaches them. */
  *[Symbol.iterator](): Iterator<T> {
    const values: T[] = [];
    for (let value = this.#first; value; value = value.next) values.push(value);
    for (const value of values) if (value.listed) yield value;
  }
}
