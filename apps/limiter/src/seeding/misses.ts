import { LRUCache } from 'lru-cache';

/**
 * Remembers for a few seconds what Postgres does not have, so that guessed key values do not become
 * queries. A new key is never in here, because nobody can have asked for its value before. Every
 * write-through clears all misses anyway.
 */
export class Misses {
  readonly #names: LRUCache<string, true>;

  constructor({ max, keepMs }: { readonly max: number; readonly keepMs: number }) {
    this.#names = new LRUCache({ max, ttl: keepMs });
  }

  add(name: string): void {
    this.#names.set(name, true);
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  clear(): void {
    this.#names.clear();
  }
}
