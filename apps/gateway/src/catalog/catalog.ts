import { LOCAL_POOL } from '@tidegate/contracts';
import type { CatalogUpdate__Output, Model__Output } from '@tidegate/rpc';

/** A published model as last reported by the runner. Immutable: an update brings a new object. */
export type CatalogModel = Readonly<Model__Output>;

export const isVision = (model: CatalogModel): boolean => model.kind === 'vision';
export const isAlwaysOn = (model: CatalogModel): boolean => model.mode === 'always_on';

/** Called with the model's new state, or null when it was deleted. */
type Listener = (model: CatalogModel | null) => void;

/** Called before the listeners, when an update has replaced what was known about a model. */
type Replaced = (before: CatalogModel, after: CatalogModel) => void;

/**
 * The published models of all pools, as their runners last reported them. What is known about a
 * pool stays unchanged while its runner is unavailable.
 */
export class Catalog {
  /** The pools that have not sent a snapshot yet. */
  readonly #missing: Set<string>;
  readonly #sources: number;
  /** The pool from which each model comes. */
  readonly #pools = new Map<string, string>();
  readonly #byId = new Map<string, CatalogModel>();
  readonly #byName = new Map<string, Map<string, CatalogModel>>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #replaced: Replaced | undefined;

  constructor(pools: readonly string[] = [LOCAL_POOL], replaced?: Replaced) {
    this.#replaced = replaced;
    this.#missing = new Set(pools);
    this.#sources = pools.length;
  }

  /** Whether a snapshot of any pool has arrived. */
  get known(): boolean {
    return this.#missing.size < this.#sources;
  }

  /**
   * Whether a snapshot of every pool has arrived. Until then, models may exist that are not here.
   */
  get complete(): boolean {
    return this.#missing.size === 0;
  }

  get(modelId: string): CatalogModel | undefined {
    return this.#byId.get(modelId);
  }

  poolOf(modelId: string): string | undefined {
    return this.#pools.get(modelId);
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

  /**
   * Applies an update from a pool's runner. If a model has moved to another pool, updates from its
   * former runner are ignored.
   */
  apply(update: CatalogUpdate__Output, pool: string = LOCAL_POOL): void {
    const { snapshot } = update;
    const models = update.models.filter((model) => this.#isNews(model, pool));
    const gone = snapshot ? this.#missingFrom(update.models) : update.removedModelIds;
    const removed = gone.filter((modelId) => this.#pools.get(modelId) === pool);
    for (const modelId of removed) this.#remove(modelId);
    for (const model of models) this.#set(model, pool);
    if (snapshot) this.#missing.delete(pool);
    for (const modelId of removed) this.#notify(modelId, null);
    for (const model of models) this.#notify(model.modelId, model);
  }

  #isNews({ modelId, version }: CatalogModel, pool: string): boolean {
    const known = this.#byId.get(modelId);
    return !known || this.#pools.get(modelId) === pool || version > known.version;
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

  #set(model: CatalogModel, pool: string): void {
    const before = this.#byId.get(model.modelId);
    this.#remove(model.modelId);
    this.#pools.set(model.modelId, pool);
    this.#byId.set(model.modelId, model);
    const names = this.#byName.get(model.orgId) ?? new Map<string, CatalogModel>();
    this.#byName.set(model.orgId, names);
    const holder = names.get(model.name);
    // The runner may report a deleted model once more after another one has taken its name.
    if (!holder || holder.publishedAtMs <= model.publishedAtMs) names.set(model.name, model);
    if (before) this.#replaced?.(before, model);
  }

  #remove(modelId: string): void {
    const model = this.#byId.get(modelId);
    if (!model) return;
    this.#byId.delete(modelId);
    this.#pools.delete(modelId);
    const names = this.#byName.get(model.orgId);
    // A model published later may hold the name by now.
    if (names?.get(model.name) === model) names.delete(model.name);
    if (names?.size === 0) this.#byName.delete(model.orgId);
  }

  #notify(modelId: string, model: CatalogModel | null): void {
    for (const listener of [...(this.#listeners.get(modelId) ?? [])]) listener(model);
  }
}
