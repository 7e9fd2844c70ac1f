import type { ModelActivity } from '@tidegate/rpc';

/** Tracks which models this gateway is using. The runner does not put a model in use to sleep. */
export class Activity {
  readonly #inFlight = new Map<string, number>();
  readonly #usedSinceReport = new Set<string>();
  #onUse: () => void = () => {};
  #total = 0;

  /** Calls the listener each time a request starts to use a model. */
  onUse(listener: () => void): void {
    this.#onUse = listener;
  }

  /** Requests in flight, over all models. */
  get total(): number {
    return this.#total;
  }

  enter(modelId: string): void {
    this.#total++;
    this.#inFlight.set(modelId, (this.#inFlight.get(modelId) ?? 0) + 1);
    this.#usedSinceReport.add(modelId);
    this.#onUse();
  }

  leave(modelId: string): void {
    this.#total--;
    const left = (this.#inFlight.get(modelId) ?? 0) - 1;
    if (left > 0) this.#inFlight.set(modelId, left);
    else this.#inFlight.delete(modelId);
  }

  inFlight(modelId: string): number {
    return this.#inFlight.get(modelId) ?? 0;
  }

  /** Models that have requests in flight now or were used since the last report. */
  report(): ModelActivity[] {
    const modelIds = new Set([...this.#usedSinceReport, ...this.#inFlight.keys()]);
    this.#usedSinceReport.clear();
    return [...modelIds].map((modelId) => ({ modelId, inFlight: this.inFlight(modelId) }));
  }
}
