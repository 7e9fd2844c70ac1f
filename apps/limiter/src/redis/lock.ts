import { SCRIPTS } from '../scripts.ts';
import type { Store } from './store.ts';

/**
 * Keeps two limiters from doing the same chore at once. It only saves work: no law depends on it.
 * It is never released; it expires.
 */
export class Lock {
  readonly #store: Store;
  readonly #name: string;
  readonly #holder: string;
  readonly #ttlMs: number;
  /** Monotonic time. */
  #heldUntilMs = 0;

  constructor(store: Store, name: string, holder: string, ttlMs: number) {
    this.#store = store;
    this.#name = name;
    this.#holder = holder;
    this.#ttlMs = ttlMs;
  }

  /** Whether it was acquired and has not expired. */
  get held(): boolean {
    return performance.now() < this.#heldUntilMs;
  }

  /** Takes or extends the lock. */
  async acquire(): Promise<boolean> {
    const askedMs = performance.now();
    const [code] = await this.#store.run(SCRIPTS.acquireLock, [this.#name], [this.#holder, this.#ttlMs]);
    const acquired = code === 'acquired';
    this.#heldUntilMs = acquired ? askedMs + this.#ttlMs : 0;
    return acquired;
  }
}
