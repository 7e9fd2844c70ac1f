import type { ModelActivity } from '@tidegate/rpc';

/** Tracks which models this gateway is using. Runners do not put a model in use to sleep. */
export class Activity {
  readonly #inFlight = new Map<string, number>();
  readonly #reporters: ActivityReporter[] = [];
  #total = 0;

  /**
   * Creates the reporter for one runner. `onUse` is called each time a request starts to use a
   * model.
   */
  reporter(onUse: () => void): ActivityReporter {
    const reporter = new ActivityReporter(this.#inFlight, onUse);
    this.#reporters.push(reporter);
    return reporter;
  }

  /** Requests in flight, over all models. */
  get total(): number {
    return this.#total;
  }

  enter(modelId: string): void {
    this.#total++;
    this.#inFlight.set(modelId, (this.#inFlight.get(modelId) ?? 0) + 1);
    for (const reporter of this.#reporters) reporter.used(modelId);
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
}

export class ActivityReporter {
  readonly #inFlight: ReadonlyMap<string, number>;
  readonly #usedSinceReport = new Set<string>();
  readonly #onUse: () => void;

  constructor(inFlight: ReadonlyMap<string, number>, onUse: () => void) {
    this.#inFlight = inFlight;
    this.#onUse = onUse;
  }

  used(modelId: string): void {
    this.#usedSinceReport.add(modelId);
    this.#onUse();
  }

  /** Models that have requests in flight now or were used since the last report. */
  report(): ModelActivity[] {
    const modelIds = new Set([...this.#usedSinceReport, ...this.#inFlight.keys()]);
    this.#usedSinceReport.clear();
    return [...modelIds].map((modelId) => ({ modelId, inFlight: this.#inFlight.get(modelId) ?? 0 }));
  }
}
