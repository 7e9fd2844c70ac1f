import { LRUCache } from 'lru-cache';

/**
 * What Postgres was found not to know, for a few seconds: guessed key values do not become queries. A key just made is
 * never in here, for nobody can have asked for its value before; and a write-through forgets the organization's all the same.
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
