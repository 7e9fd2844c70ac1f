import type { CatalogUpdate } from '@tidegate/rpc';
import type { Catalog } from '../catalog/catalog.ts';

/** Where a watcher's updates go: a stream that says when it is full. */
export interface UpdateSink {
  /** False: full, until `drain`. */
  write(update: CatalogUpdate): boolean;
  on(event: 'drain', listener: () => void): unknown;
}

/** With more changes than this waiting, a watcher gets everything anew. */
const MAX_WAITING_CHANGES = 256;

/**
 * Sends a watcher a snapshot and then the changes, those of one event-loop turn together. What a full stream cannot take
 * waits as the mere names of changed models: they are sent as they are when there is room again, whatever came between.
 */
export class Feed {
  readonly #catalog: Catalog;
  readonly #sink: UpdateSink;
  readonly #unsubscribe: () => void;
  readonly #changed = new Set<string>();
  #all = true;
  #full = false;
  #scheduled = false;
  #closed = false;

  constructor(catalog: Catalog, sink: UpdateSink) {
    this.#catalog = catalog;
    this.#sink = sink;
    this.#unsubscribe = catalog.onChange((modelId) => this.#note(modelId));
    sink.on('drain', () => {
      this.#full = false;
      this.#schedule();
    });
    this.#send();
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
  }

  #note(modelId: string): void {
    if (!this.#all) {
      this.#changed.add(modelId);
      if (this.#changed.size > MAX_WAITING_CHANGES) {
        this.#changed.clear();
        this.#all = true;
      }
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#send();
    });
  }

  #send(): void {
    if (this.#closed || this.#full || (!this.#all && this.#changed.size === 0)) return;
    this.#full = !this.#sink.write(this.#all ? this.#snapshot() : this.#changes());
    this.#all = false;
    this.#changed.clear();
  }

  #snapshot(): CatalogUpdate {
    return {
      revision: this.#catalog.revision,
      snapshot: true,
      models: this.#catalog.all(),
      removedModelIds: [],
    };
  }

  #changes(): CatalogUpdate {
    const entries = [...this.#changed].map((modelId) => ({ modelId, model: this.#catalog.get(modelId) }));
    return {
      revision: this.#catalog.revision,
      snapshot: false,
      models: entries.flatMap(({ model }) => (model ? [model] : [])),
      removedModelIds: entries.filter(({ model }) => !model).map(({ modelId }) => modelId),
    };
  }
}
