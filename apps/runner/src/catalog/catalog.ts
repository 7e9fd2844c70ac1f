import type { Model } from '@tidegate/rpc';

/** A catalog entry as gateways get it. */
export type CatalogModel = Model & { readonly modelId: string };

/**
 * What gateways know: every published model as it is now, under a revision that only grows, over restarts too. Each change
 * takes the next revision and is told to the listeners.
 */
export class Catalog {
  readonly #models = new Map<string, CatalogModel>();
  readonly #listeners = new Set<(modelId: string) => void>();
  #revision: number;

  /** Revisions begin with the time, in microseconds: past any that an earlier runner can have reached. */
  constructor(nowMs: number) {
    this.#revision = nowMs * 1_000;
  }

  get revision(): number {
    return this.#revision;
  }

  get size(): number {
    return this.#models.size;
  }

  get(modelId: string): CatalogModel | undefined {
    return this.#models.get(modelId);
  }

  all(): CatalogModel[] {
    return [...this.#models.values()];
  }

  /** Returns the revision that holds it. */
  put(model: CatalogModel): number {
    this.#models.set(model.modelId, model);
    return this.#changed(model.modelId);
  }

  remove(modelId: string): number {
    this.#models.delete(modelId);
    return this.#changed(modelId);
  }

  /** Returns what ends it. */
  onChange(listener: (modelId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(modelId: string): number {
    const revision = ++this.#revision;
    for (const listener of this.#listeners) listener(modelId);
    return revision;
  }
}
