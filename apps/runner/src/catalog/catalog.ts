import type { Model } from '@tidegate/rpc';

/** A catalog entry in the form that gateways get. */
export type CatalogEntry = Model & { readonly modelId: string };

/**
 * All published models in their current state. Each change takes the next revision and is announced
 * to the listeners. Revisions only grow, even across restarts.
 */
export class CatalogSource {
  readonly #models = new Map<string, CatalogEntry>();
  readonly #listeners = new Set<(modelId: string) => void>();
  #revision: number;

  /**
   * Revisions start at the time in microseconds. So they are above any that an earlier runner can
   * have reached.
   */
  constructor(nowMs: number) {
    this.#revision = nowMs * 1_000;
  }

  get revision(): number {
    return this.#revision;
  }

  get size(): number {
    return this.#models.size;
  }

  get(modelId: string): CatalogEntry | undefined {
    return this.#models.get(modelId);
  }

  all(): CatalogEntry[] {
    return [...this.#models.values()];
  }

  /** Returns the new revision. */
  put(model: CatalogEntry): number {
    this.#models.set(model.modelId, model);
    return this.#changed(model.modelId);
  }

  remove(modelId: string): number {
    this.#models.delete(modelId);
    return this.#changed(modelId);
  }

  /** Returns a function that removes the listener. */
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
