/**
 * A gateway's report: the revision that it has applied, and the models that it uses or has used
 * since its last report.
 */
export interface Report {
  readonly instanceId: string;
  readonly acknowledgedRevision: number;
  readonly activity: readonly { readonly modelId: string; readonly inFlight: number }[];
}

/** A gateway's connection. */
export interface GatewayLink {
  report(report: Report): void;
  close(): void;
}

interface Known {
  instanceId: string;
  acknowledged: number;
  /** The models of its last report. */
  activity: ReadonlyMap<string, number>;
}

export interface GatewaysOptions {
  /** Monotonic clock. */
  readonly nowMs: () => number;
  /**
   * How long a disconnected gateway is assumed to continue as it last reported: it serves from its
   * last catalog. For the same time after gateways can first reach it, a runner assumes that there
   * may be some that it has not met yet.
   */
  readonly absentGraceMs: number;
  readonly onUse: (modelId: string) => void;
}

/** What all gateways are doing, and which revisions they have applied. */
export class Gateways {
  readonly #options: GatewaysOptions;
  readonly #links = new Set<Known>();
  /** Disconnected gateways by instance, with the time until which they count. */
  readonly #absent = new Map<string, number>();
  readonly #listeners = new Set<() => void>();
  #blindUntilMs = Number.POSITIVE_INFINITY;

  constructor(options: GatewaysOptions) {
    this.#options = options;
  }

  /** Notes that gateways can reach this runner from now on. */
  open(): void {
    this.#blindUntilMs = this.#options.nowMs() + this.#options.absentGraceMs;
  }

  get connected(): number {
    return this.#links.size;
  }

  connect(): GatewayLink {
    const known: Known = { instanceId: '', acknowledged: 0, activity: new Map() };
    this.#links.add(known);
    return {
      report: (report) => this.#take(known, report),
      close: () => {
        if (!this.#links.delete(known)) return;
        if (known.instanceId && !this.#isBack(known))
          this.#absent.set(known.instanceId, this.#options.nowMs() + this.#options.absentGraceMs);
        this.#notify();
      },
    };
  }

  /** Whether no gateway uses the model, including those that the runner may not be hearing from. */
  isUnused(modelId: string): boolean {
    return !this.#someAbsent() && ![...this.#links].some(({ activity }) => (activity.get(modelId) ?? 0) > 0);
  }

  /**
   * Requests in flight by model, as the connected gateways last reported them. Models without any
   * are left out. If a gateway has reconnected before its old connection was known to be dead, only
   * the new one counts.
   */
  inFlight(): ReadonlyMap<string, number> {
    const newest = new Map([...this.#links].map((link) => [link.instanceId, link]));
    const total = new Map<string, number>();
    for (const { activity } of newest.values())
      for (const [modelId, count] of activity)
        if (count > 0) total.set(modelId, (total.get(modelId) ?? 0) + count);
    return total;
  }

  /**
   * Resolves when every connected gateway has applied the revision, or after `timeoutMs`. True:
   * they all have.
   */
  acknowledged(revision: number, timeoutMs: number): Promise<boolean> {
    const all = () => [...this.#links].every((link) => link.acknowledged >= revision);
    return this.#until(() => (all() ? true : null), timeoutMs);
  }

  /**
   * Waits until every gateway has applied the revision that shows the model asleep, and has none of
   * its requests in flight. False: the model is in use, some gateway was not heard from in time, or
   * `signal` was aborted.
   */
  drained(modelId: string, revision: number, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const judge = (): boolean | null => {
      const links = [...this.#links];
      const applied = links.filter(({ acknowledged }) => acknowledged >= revision);
      if (applied.some(({ activity }) => activity.has(modelId))) return false;
      return applied.length === links.length && !this.#someAbsent() ? true : null;
    };
    return this.#until(judge, timeoutMs, signal);
  }

  #take(known: Known, { instanceId, acknowledgedRevision, activity }: Report): void {
    known.instanceId = instanceId;
    known.acknowledged = Math.max(known.acknowledged, acknowledgedRevision);
    known.activity = new Map(activity.map(({ modelId, inFlight }) => [modelId, inFlight]));
    this.#absent.delete(instanceId);
    for (const { modelId } of activity) this.#options.onUse(modelId);
    this.#notify();
  }

  /** Whether the gateway already has another connection. */
  #isBack({ instanceId }: Known): boolean {
    return [...this.#links].some((link) => link.instanceId === instanceId);
  }

  #someAbsent(): boolean {
    const nowMs = this.#options.nowMs();
    for (const [instanceId, untilMs] of this.#absent) if (untilMs <= nowMs) this.#absent.delete(instanceId);
    return this.#absent.size > 0 || nowMs < this.#blindUntilMs;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Resolves to the first verdict that is not null. False: there was none in time. */
  #until(judge: () => boolean | null, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (verdict: boolean) => {
        this.#listeners.delete(look);
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        resolve(verdict);
      };
      const look = () => {
        const verdict = judge();
        if (verdict !== null) end(verdict);
      };
      const abort = () => end(false);
      const timer = setTimeout(abort, timeoutMs);
      signal?.addEventListener('abort', abort, { once: true });
      this.#listeners.add(look);
      if (signal?.aborted) abort();
      else look();
    });
  }
}
