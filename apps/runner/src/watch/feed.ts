import type { CatalogUpdate } from '@tidegate/rpc';
import type { CatalogSource } from '../catalog/catalog.ts';

/** A stream for a watcher's updates. It says when it is full. */
export interface UpdateSink {
  /** False: it is full until `drain`. */
  write(update: CatalogUpdate): boolean;
  on(event: 'drain', listener: () => void): unknown;
}

/** If more changes than this are waiting, the watcher gets a new snapshot. */
const MAX_WAITING_CHANGES = 256;

/**
 * Sends a watcher a snapshot and then the changes. Changes of one event-loop turn go together.
 * While the stream is full, only the ids of changed models are kept. When there is room, their
 * current state is sent, and the states in between are skipped.
 */
export class Feed {
  readonly #catalog: CatalogSource;
  readonly #sink: UpdateSink;
  readonly #unsubscribe: () => void;
  readonly #changed = new Set<string>();
  #all = true;
  #full = false;
  #scheduled = false;
  #closed = false;

  constructor(catalog: CatalogSource, sink: UpdateSink) {
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
