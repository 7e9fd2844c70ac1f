import { LoopTurns } from '../loop-turns.ts';
import type { Catalog, CatalogModel } from './catalog.ts';

/** `stopped`: an owner stopped the model meanwhile. */
export type WakeOutcome = 'running' | 'stopped' | 'failed' | 'starting';

export interface WakerOptions {
  readonly catalog: Catalog;
  /**
   * Makes one Wake call. Resolves to `running`, to `stopped` or `failed` if the model was stopped
   * or could not be started, or to `unavailable` if the runner could not be reached or the deadline
   * passed.
   */
  readonly wake: (modelId: string, deadlineMs: number, asker: Asker) => Promise<WakeAnswer>;
  readonly retryMs: number;
  /**
   * Called the first time a crowd of requests waits for one model. All of them will be forwarded at
   * once. `waits` returns whether any of them is still waiting.
   */
  readonly onCrowd: (waits: () => boolean) => void;
  /** Monotonic clock. */
  readonly nowMs: () => number;
}

/** A smaller crowd is forwarded fast enough even by a gateway that has just started. */
const CROWD = 32;
/** Requests for one model that continue in one turn of the event loop. */
const RELEASED_A_TURN = 32;

/** A request that needs a model. */
export interface Asker {
  /** For the runner's log and its span, if this request is the first to ask. */
  readonly requestId: string;
  /** Undefined: the request is not traced. */
  readonly traceparent?: string | undefined;
  /** Monotonic time. Requests that wait for the same model continue in this order. */
  readonly arrivedAtMs: number;
}

/** The runner's answer to one call. */
export type WakeAnswer = 'running' | 'stopped' | 'failed' | 'unavailable';

interface WakeWaiter {
  readonly endMs: number;
  readonly asker: Asker;
  /** Whether its outcome is decided. It may still be waiting for its turn. */
  done: boolean;
  readonly onChange: (model: CatalogModel | null) => void;
}

/** The requests that wait for one model. */
interface Crowd {
  readonly waiters: Set<WakeWaiter>;
  readonly unsubscribe: () => void;
}

/**
 * Wakes models. All requests that wait for the same model share one call to the runner. A waiter
 * continues as soon as the catalog shows the model running with a replica. A crowd is spread over
 * several turns of the event loop, so that the limiter decides on the first ones while the last
 * ones are on their way.
 */
export class Waker {
  readonly #options: WakerOptions;
  readonly #calls = new Map<string, Promise<WakeAnswer>>();
  readonly #crowds = new Map<string, Crowd>();
  readonly #turns = new LoopTurns(RELEASED_A_TURN);
  #crowded = false;

  constructor(options: WakerOptions) {
    this.#options = options;
  }

  /** Requests that wait for the model. */
  waiting(modelId: string): number {
    return this.#crowds.get(modelId)?.waiters.size ?? 0;
  }

  /**
   * Waits for at most `waitMs`. Resolves to `starting` if the model is not ready by then, or if the
   * signal aborts.
   */
  wait(modelId: string, waitMs: number, signal: AbortSignal, asker: Asker): Promise<WakeOutcome> {
    const { catalog, nowMs } = this.#options;
    return new Promise((resolve) => {
      const finish = (outcome: WakeOutcome) => {
        this.#leave(modelId, waiter);
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        resolve(outcome);
      };
      const onAbort = () => finish('starting');
      const proceed = () => {
        this.#leave(modelId, waiter);
        const turn = this.#turns.take(modelId, 1);
        if (turn) void turn.then(() => finish('running'));
        else finish('running');
      };
      let asking = false;
      const ask = async () => {
        asking = true;
        const refused = await this.#wake(modelId, waiter);
        asking = false;
        if (refused) finish(refused);
      };
      const onChange = (model: CatalogModel | null) => {
        if (!model) finish('failed');
        else if (model.condition === 'CONDITION_STOPPED') finish('stopped');
        else if (isReady(model)) proceed();
        else if (model.condition === 'CONDITION_FAILED' && !model.wakeable) finish('failed');
        // The model started but has ended since, and this catalog has never shown it running.
        else if (model.wakeable && !asking) void ask();
      };
      const waiter: WakeWaiter = { endMs: nowMs() + waitMs, asker, done: false, onChange };
      this.#enter(modelId, waiter);
      const timer = setTimeout(finish, waitMs, 'starting');
      signal.addEventListener('abort', onAbort, { once: true });
      const model = catalog.get(modelId);
      if (signal.aborted) onAbort();
      else if (!model || isReady(model)) onChange(model ?? null);
      else void ask();
    });
  }

  #enter(modelId: string, waiter: WakeWaiter): void {
    let crowd = this.#crowds.get(modelId);
    if (!crowd) {
      const unsubscribe = this.#options.catalog.onChange(modelId, (model) => this.#notify(modelId, model));
      crowd = { waiters: new Set(), unsubscribe };
      this.#crowds.set(modelId, crowd);
    }
    crowd.waiters.add(waiter);
    if (crowd.waiters.size < CROWD || this.#crowded) return;
    this.#crowded = true;
    this.#options.onCrowd(() => this.waiting(modelId) > 0);
  }

  #leave(modelId: string, waiter: WakeWaiter): void {
    const crowd = this.#crowds.get(modelId);
    waiter.done = true;
    if (!crowd?.waiters.delete(waiter) || crowd.waiters.size > 0) return;
    crowd.unsubscribe();
    this.#crowds.delete(modelId);
  }

  /**
   * Tells the waiters in the order in which their requests arrived. A request may have begun to
   * wait after one that arrived later, because its admission took longer: an organization's first
   * admission makes the limiter read Postgres.
   */
  #notify(modelId: string, model: CatalogModel | null): void {
    const waiters = [...(this.#crowds.get(modelId)?.waiters ?? [])];
    waiters.sort((a, b) => a.asker.arrivedAtMs - b.asker.arrivedAtMs);
    for (const { onChange } of waiters) onChange(model);
  }

  /**
   * Asks the runner until it answers or the waiter's time is up. Resolves to the reason why the
   * model will not run, or to null if the runner gave none.
   */
  async #wake(modelId: string, waiter: WakeWaiter): Promise<'stopped' | 'failed' | null> {
    for (;;) {
      const leftMs = waiter.endMs - this.#options.nowMs();
      if (waiter.done || leftMs <= 0) return null;
      const answer = await this.#call(modelId, leftMs, waiter.asker);
      if (answer !== 'unavailable') return answer === 'running' ? null : answer;
    }
  }

  /** All waiters share one call, including the pause after a failed one. */
  #call(modelId: string, deadlineMs: number, asker: Asker): Promise<WakeAnswer> {
    let call = this.#calls.get(modelId);
    if (!call) {
      call = this.#callOnce(modelId, deadlineMs, asker).finally(() => this.#calls.delete(modelId));
      this.#calls.set(modelId, call);
    }
    return call;
  }

  async #callOnce(modelId: string, deadlineMs: number, asker: Asker): Promise<WakeAnswer> {
    const { wake, retryMs } = this.#options;
    const outcome = await wake(modelId, deadlineMs, asker);
    if (outcome === 'unavailable') await new Promise((resolve) => setTimeout(resolve, retryMs));
    return outcome;
  }
}

const isReady = (model: CatalogModel): boolean =>
  model.condition === 'CONDITION_RUNNING' && model.replicas.length > 0;
