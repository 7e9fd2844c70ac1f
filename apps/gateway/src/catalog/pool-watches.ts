import type { CatalogWatch } from './watch.ts';

/** The watches of all pools. */
export class PoolWatches {
  readonly #watches: readonly CatalogWatch[];

  constructor(watches: readonly CatalogWatch[]) {
    this.#watches = watches;
  }

  /** Whether the models of every pool are being kept current. */
  get live(): boolean {
    return this.#watches.every(({ live }) => live);
  }

  /**
   * Whether every pool was asked for its models. A pool whose runner is away keeps nobody waiting.
   */
  get tried(): boolean {
    return this.#watches.every(({ tried }) => tried);
  }

  start(): void {
    for (const watch of this.#watches) watch.start();
  }

  stop(): void {
    for (const watch of this.#watches) watch.stop();
  }
}
