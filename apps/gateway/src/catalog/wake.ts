import type { Catalog, CatalogModel } from './catalog.ts';

export type WakeOutcome = 'running' | 'failed' | 'starting';

export interface WakerOptions {
  readonly catalog: Catalog;
  /**
   * One Wake call. `running`, `failed` (it could not be started) or `away` (the runner could not be asked, or the time was
   * over).
   */
  readonly wake: (modelId: string, deadlineMs: number) => Promise<'running' | 'failed' | 'away'>;
  readonly holdMs: number;
  readonly retryMs: number;
}

/**
 * Wakes models, one call to the runner for all requests that wait for the same one. A waiter goes on as soon as the
 * catalog has the model running with a replica.
 */
export class Waker {
  readonly #options: WakerOptions;
  readonly #calls = new Map<string, Promise<boolean>>();

  constructor(options: WakerOptions) {
    this.#options = options;
  }

  /** Holds for at most `holdMs`; `starting`: not ready by then. An abort ends it as `starting`. */
  hold(modelId: string, signal: AbortSignal): Promise<WakeOutcome> {
    const { catalog, holdMs } = this.#options;
    return new Promise((resolve) => {
      const finish = (outcome: WakeOutcome) => {
        clearTimeout(timer);
        unsubscribe();
        signal.removeEventListener('abort', onAbort);
        resolve(outcome);
      };
      const onAbort = () => finish('starting');
      const onChange = (model: CatalogModel | null) => {
        if (!model || model.condition === 'CONDITION_STOPPED') finish('failed');
        else if (isReady(model)) finish('running');
        else if (model.condition === 'CONDITION_FAILED' && !model.wakeable) finish('failed');
      };
      const timer = setTimeout(finish, holdMs, 'starting');
      const unsubscribe = catalog.onChange(modelId, onChange);
      signal.addEventListener('abort', onAbort, { once: true });
      const model = catalog.get(modelId);
      if (signal.aborted) onAbort();
      else if (!model || isReady(model)) onChange(model ?? null);
      else void this.#call(modelId).then((couldStart) => couldStart || finish('failed'));
    });
  }

  /** One call for all waiters. False: the runner says that it cannot be started. */
  #call(modelId: string): Promise<boolean> {
    const call = this.#calls.get(modelId) ?? this.#wake(modelId).finally(() => this.#calls.delete(modelId));
    this.#calls.set(modelId, call);
    return call;
  }

  async #wake(modelId: string): Promise<boolean> {
    const { wake, holdMs, retryMs } = this.#options;
    const endMs = performance.now() + holdMs;
    for (;;) {
      const outcome = await wake(modelId, holdMs);
      if (outcome !== 'away') return outcome === 'running';
      if (performance.now() + retryMs >= endMs) return true;
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}

const isReady = (model: CatalogModel): boolean =>
  model.condition === 'CONDITION_RUNNING' && model.replicas.length > 0;
