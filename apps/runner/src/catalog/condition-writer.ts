import { EventEmitter, once } from 'node:events';
import { createOutage, type Logger, type Outage, within } from '@tidegate/runtime';
import type { PersistedCondition } from './spec.ts';
import type { ModelStore } from './store.ts';

const RETRY_MS = 500;

/**
 * Writes conditions to Postgres in the order they came. Only the newest condition of each model is
 * kept, so at most one per model waits. A failed write goes behind the others, because one model's
 * row may be locked. It is retried until it succeeds or the writer is closed.
 */
export class ConditionWriter {
  readonly #store: Pick<ModelStore, 'writeCondition'>;
  readonly #outage: Outage;
  readonly #waiting = new Map<string, PersistedCondition>();
  /** Emits the id of a model whose newest condition is written. */
  readonly #written = new EventEmitter().setMaxListeners(0);
  #working: Promise<void> | null = null;
  #closed = false;

  constructor(store: Pick<ModelStore, 'writeCondition'>, logger: Logger) {
    this.#store = store;
    this.#outage = createOutage(logger, 'a condition could not be written');
  }

  write(modelId: string, record: PersistedCondition): void {
    if (this.#closed) return;
    this.#waiting.delete(modelId);
    // A program may print NUL bytes. Postgres takes none.
    this.#waiting.set(modelId, { ...record, reason: record.reason.replaceAll('\0', '') });
    this.#working ??= this.#work();
  }

  /**
   * Resolves once everything handed over is written, or after `timeoutMs`. True: everything is
   * written.
   */
  async flush(timeoutMs: number): Promise<boolean> {
    if (!this.#working) return true;
    const written = this.#working.then(() => !this.#closed);
    return within(written, timeoutMs, false);
  }

  /** Does the same for one model. The others may have to wait for longer. */
  async flushOne(modelId: string, timeoutMs: number): Promise<boolean> {
    if (!this.#waiting.has(modelId)) return true;
    return once(this.#written, modelId, { signal: AbortSignal.timeout(timeoutMs) }).then(
      () => true,
      () => false,
    );
  }

  /** Writes what is waiting, for at most `timeoutMs`. Then it writes nothing more. */
  async close(timeoutMs: number): Promise<void> {
    await this.flush(timeoutMs);
    this.abandon();
  }

  /** Gives up everything that is waiting, and writes nothing more. */
  abandon(): void {
    this.#closed = true;
  }

  async #work(): Promise<void> {
    for (;;) {
      const [next] = this.#waiting;
      if (!next || this.#closed) {
        this.#working = null;
        return;
      }
      const [modelId, record] = next;
      try {
        await this.#store.writeCondition(modelId, record);
        this.#outage.worked();
        if (this.#waiting.get(modelId) !== record) continue;
        this.#waiting.delete(modelId);
        this.#written.emit(modelId);
      } catch (err) {
        this.#outage.failed(err, { modelId });
        if (this.#waiting.get(modelId) === record) {
          this.#waiting.delete(modelId);
          this.#waiting.set(modelId, record);
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
}
