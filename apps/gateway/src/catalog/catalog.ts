import type { CatalogUpdate__Output, Model__Output } from '@tidegate/rpc';

/** A published model as last reported by the runner. Immutable: an update brings a new object. */
export type CatalogModel = Readonly<Model__Output>;

export const isVision = (model: CatalogModel): boolean => model.kind === 'vision';
export const isAlwaysOn = (model: CatalogModel): boolean => model.mode === 'always_on';

/** Called with the model's new state, or null when it was deleted. */
type Listener = (model: CatalogModel | null) => void;

/**
 * The published models as last reported by the runner. Stays unchanged while the runner is
 * unavailable.
 */
export class Catalog {
  readonly #byId = new Map<string, CatalogModel>();
  readonly #byName = new Map<string, Map<string, CatalogModel>>();
  readonly #listeners = new Map<string, Set<Listener>>();
  #known = false;

  /** Whether a snapshot has ever arrived. */
  get known(): boolean {
    return this.#known;
  }

  get(modelId: string): CatalogModel | undefined {
    return this.#byId.get(modelId);
  }

  all(): Iterable<CatalogModel> {
    return this.#byId.values();
  }

  find(orgId: string, name: string): CatalogModel | undefined {
    return this.#byName.get(orgId)?.get(name);
  }

  /** The models of an organization in order of publication. */
  published(orgId: string): CatalogModel[] {
    return [...(this.#byName.get(orgId)?.values() ?? [])].sort(
      (a, b) => a.publishedAtMs - b.publishedAtMs || (a.modelId < b.modelId ? -1 : 1),
    );
  }

  apply({ snapshot, models, removedModelIds }: CatalogUpdate__Output): void {
    const removed = snapshot ? this.#missingFrom(models) : removedModelIds;
    for (const modelId of removed) this.#remove(modelId);
    for (const model of models) this.#set(model);
    if (snapshot) this.#known = true;
    for (const modelId of removed) this.#notify(modelId, null);
    for (const model of models) this.#notify(model.modelId, model);
  }

  /** Returns a function that ends the subscription. */
  onChange(modelId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(modelId) ?? new Set();
    this.#listeners.set(modelId, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(modelId) === listeners) this.#listeners.delete(modelId);
    };
  }

  #missingFrom(models: readonly CatalogModel[]): string[] {
    const present = new Set(models.map(({ modelId }) => modelId));
    return [...this.#byId.keys()].filter((modelId) => !present.has(modelId));
  }

  #set(model: CatalogModel): void {
    this.#remove(model.modelId);
    this.#byId.set(model.modelId, model);
    const names = this.#byName.get(model.orgId) ?? new Map<string, CatalogModel>();
    this.#byName.set(model.orgId, names);
    const holder = names.get(model.name);
    // The runner may report a deleted model once more after another one has taken its name.
    if (!holder || holder.publishedAtMs <= model.publishedAtMs) names.set(model.name, model);
  }

  #remove(modelId: string): void {
    const model = this.#byId.get(modelId);
    if (!model) return;
    this.#byId.delete(modelId);
    const names = this.#byName.get(model.orgId);
    // A model published later may hold the name by now.
    if (names?.get(model.name) === model) names.delete(model.name);
    if (names?.size === 0) this.#byName.delete(model.orgId);
  }

  #notify(modelId: string, model: CatalogModel | null): void {
    for (const listener of [...(this.#listeners.get(modelId) ?? [])]) listener(model);
  }
}
