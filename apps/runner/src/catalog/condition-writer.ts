import type { Logger } from '@tidegate/runtime';
import type { ConditionRecord, ModelStore } from './store.ts';

const RETRY_MS = 500;

/**
 * Brings conditions into Postgres in the order they came, the newest of each model only, so that no more than one a model
 * ever waits. A write that fails is tried again until it succeeds or the writer is closed.
 */
export class ConditionWriter {
  readonly #store: Pick<ModelStore, 'writeCondition'>;
  readonly #logger: Logger;
  readonly #waiting = new Map<string, ConditionRecord>();
  #working: Promise<void> | null = null;
  #closed = false;

  constructor(store: Pick<ModelStore, 'writeCondition'>, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  write(modelId: string, record: ConditionRecord): void {
    if (this.#closed) return;
    this.#waiting.delete(modelId);
    this.#waiting.set(modelId, record);
    this.#working ??= this.#work();
  }

  /** Resolves once all that was handed over is written, or after `timeoutMs`. True: it is written. */
  async flush(timeoutMs: number): Promise<boolean> {
    if (!this.#working) return true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, false);
    });
    const written = await Promise.race([this.#working.then(() => !this.#closed), late]);
    clearTimeout(timer);
    return written;
  }

  /** Writes what waits, for at most `timeoutMs`, and then nothing more. */
  async close(timeoutMs: number): Promise<void> {
    await this.flush(timeoutMs);
    this.abandon();
  }

  /** Tries nothing more from here on, whatever waits. */
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
        if (this.#waiting.get(modelId) === record) this.#waiting.delete(modelId);
      } catch (err) {
        this.#logger.warn({ err, modelId }, 'a condition could not be written, trying again');
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
}
