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
   * Whether the runner of every pool has sent its models, or could not be watched. So an
   * unreachable runner does not keep the gateway from becoming ready.
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
