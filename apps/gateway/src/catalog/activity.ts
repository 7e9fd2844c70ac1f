import type { ModelActivity } from '@tidegate/rpc';

/** Which models are in use here: what keeps the runner from putting one to sleep under a request. */
export class Activity {
  readonly #inFlight = new Map<string, number>();
  readonly #usedSinceReport = new Set<string>();

  enter(modelId: string): void {
    this.#inFlight.set(modelId, (this.#inFlight.get(modelId) ?? 0) + 1);
    this.#usedSinceReport.add(modelId);
  }

  leave(modelId: string): void {
    const left = (this.#inFlight.get(modelId) ?? 0) - 1;
    if (left > 0) this.#inFlight.set(modelId, left);
    else this.#inFlight.delete(modelId);
  }

  inFlight(modelId: string): number {
    return this.#inFlight.get(modelId) ?? 0;
  }

  /** Models with requests in flight now, or used since the report before. */
  report(): ModelActivity[] {
    const modelIds = new Set([...this.#usedSinceReport, ...this.#inFlight.keys()]);
    this.#usedSinceReport.clear();
    return [...modelIds].map((modelId) => ({ modelId, inFlight: this.inFlight(modelId) }));
  }
}
