import type { Catalog, CatalogModel } from './catalog.ts';

export type WakeOutcome = 'running' | 'failed' | 'starting';

export interface WakerOptions {
  readonly catalog: Catalog;
  /**
   * One Wake call. `running`, `failed` (it could not be started) or `away` (the runner could not be asked, or the time was
   * over).
   */
  readonly wake: (modelId: string, deadlineMs: number) => Promise<CallOutcome>;
  readonly retryMs: number;
  /** Monotonic. */
  readonly nowMs: () => number;
}

type CallOutcome = 'running' | 'failed' | 'away';

interface Waiter {
  readonly endMs: number;
  over: boolean;
}

/**
 * Wakes models, one call to the runner for all requests that wait for the same one. A waiter goes on as soon as the
 * catalog has the model running with a replica.
 */
export class Waker {
  readonly #options: WakerOptions;
  readonly #calls = new Map<string, Promise<CallOutcome>>();

  constructor(options: WakerOptions) {
    this.#options = options;
  }

  /** Holds for at most `holdMs`; `starting`: not ready by then. An abort ends it as `starting`. */
  hold(modelId: string, holdMs: number, signal: AbortSignal): Promise<WakeOutcome> {
    const { catalog, nowMs } = this.#options;
    return new Promise((resolve) => {
      const waiter = { endMs: nowMs() + holdMs, over: false };
      const finish = (outcome: WakeOutcome) => {
        waiter.over = true;
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
      else void this.#wake(modelId, waiter).then((couldStart) => couldStart || finish('failed'));
    });
  }

  /** Asks the runner until it has an answer or the waiter's time is over. False: it says that the model cannot be started. */
  async #wake(modelId: string, waiter: Waiter): Promise<boolean> {
    for (;;) {
      const leftMs = waiter.endMs - this.#options.nowMs();
      if (waiter.over || leftMs <= 0) return true;
      const outcome = await this.#call(modelId, leftMs);
      if (outcome !== 'away') return outcome === 'running';
    }
  }

  /** One call for all waiters, the pause after one that failed included. */
  #call(modelId: string, deadlineMs: number): Promise<CallOutcome> {
    let call = this.#calls.get(modelId);
    if (!call) {
      call = this.#callOnce(modelId, deadlineMs).finally(() => this.#calls.delete(modelId));
      this.#calls.set(modelId, call);
    }
    return call;
  }

  async #callOnce(modelId: string, deadlineMs: number): Promise<CallOutcome> {
    const { wake, retryMs } = this.#options;
    const outcome = await wake(modelId, deadlineMs);
    if (outcome === 'away') await new Promise((resolve) => setTimeout(resolve, retryMs));
    return outcome;
  }
}

const isReady = (model: CatalogModel): boolean =>
  model.condition === 'CONDITION_RUNNING' && model.replicas.length > 0;
