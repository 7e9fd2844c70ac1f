import { LRUCache } from 'lru-cache';
import type { CatalogModel } from './catalog.ts';

export interface Replica {
  readonly replicaId: string;
  readonly baseUrl: string;
}

/** How a call to a replica ended, as far as that says anything about the replica. */
export type ReplicaResult =
  /** With a complete answer. */
  | 'answered'
  /** With an error, a broken answer, or none in time. The request may have been the cause. */
  | 'failed'
  /** The replica answered nothing at all. */
  | 'unreached'
  | 'unknown';

interface Ejection {
  /** How many times in a row. */
  times: number;
  /**
   * When the replica joined or will join the others. Until then it is ejected, and from then on its
   * slow start runs.
   */
  joinsAtMs: number;
}

interface ReplicaState extends Ejection {
  inFlight: number;
}

interface FailingState extends Ejection {
  /** Failed calls since the last one that was answered. */
  failed: number;
}

const FIRST_EJECTION_MS = 1_000;
const MAX_EJECTION_MS = 30_000;
/** High enough that a caller whose own requests make a model fail seldom ejects anything. */
const FAILED_IN_A_ROW = 5;
const MAX_STATES = 1_000;
const SLOW_START_MS = 10_000;
const FIRST_WEIGHT = 0.1;

/**
 * Chooses among a model's replicas: the one with the fewest requests in flight from this gateway,
 * in rotation among equals. A replica that fails to answer is ejected for a second, doubling up to
 * half a minute, unless all the others are, too.
 *
 * So is one that answers, but fails five times in a row: otherwise it would have the fewest in
 * flight just because it fails so fast. It is ejected only while another replica answers. So when
 * all of them fail, because of the model or of the requests, all of them stay in use.
 *
 * A replica that was ejected and comes back, or that joins others, has the fewest in flight and
 * would get every new request, with its caches still cold. So for 10 s it counts as a growing
 * fraction of a replica: with weight `w` it never gets more in flight than `w` times what the
 * others have.
 */
export class Replicas {
  /** The state of each server, across all models that are called there. */
  readonly #states = new Map<string, ReplicaState>();
  /**
   * By model as well: another model on the same server may belong to someone else, and be healthy.
   */
  readonly #failing = new LRUCache<string, FailingState>({ max: MAX_STATES });
  readonly #nowMs: () => number;
  #rotation = 0;

  /** @param nowMs monotonic clock */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * Counts a request to the chosen replica until `release`. Returns null if there is no replica
   * other than the excluded one.
   */
  take(model: CatalogModel, excludedId?: string): Replica | null {
    const { modelId, replicas } = model;
    const nowMs = this.#nowMs();
    const heeds = this.#heedsFailures(model, nowMs);
    let best: Replica | null = null;
    let bestRank = Number.POSITIVE_INFINITY;
    this.#rotation++;
    for (let i = 0; i < replicas.length; i++) {
      const replica = replicas[(i + this.#rotation) % replicas.length] as Replica;
      if (replica.replicaId === excludedId) continue;
      const rank = this.#rank(heeds ? modelId : null, replica.replicaId, nowMs);
      if (rank < bestRank) [best, bestRank] = [replica, rank];
    }
    if (best) this.#state(best.replicaId).inFlight++;
    return best;
  }

  /** Compares a model's replicas before and after a change, and makes the new ones start slowly. */
  changed(before: readonly Replica[], after: readonly Replica[]): void {
    const nowMs = this.#nowMs();
    const known = new Set(before.map(({ replicaId }) => replicaId));
    for (const { replicaId } of after) {
      if (known.has(replicaId)) continue;
      const state = this.#state(replicaId);
      state.joinsAtMs = Math.max(state.joinsAtMs, nowMs);
    }
    if (this.#states.size > MAX_STATES) this.#forget(nowMs);
  }

  release(model: CatalogModel, { replicaId }: Replica, end: ReplicaResult): void {
    const nowMs = this.#nowMs();
    const state = this.#state(replicaId);
    state.inFlight--;
    if (end === 'answered') {
      rejoin(state, nowMs);
      this.#answered(model.modelId, replicaId, nowMs);
    } else if (end === 'unreached') eject(state, nowMs);
    else if (end === 'failed') this.#failed(model, replicaId, nowMs);
    if (state.inFlight === 0 && state.times === 0 && weight(state.joinsAtMs, nowMs) === 1)
      this.#states.delete(replicaId);
    if (this.#states.size > MAX_STATES) this.#forget(nowMs);
  }

  /** Whether the replica is ejected now. */
  isEjected(model: CatalogModel, { replicaId }: Replica): boolean {
    const nowMs = this.#nowMs();
    return this.#joinsAtMs(this.#heedsFailures(model, nowMs) ? model.modelId : null, replicaId) > nowMs;
  }

  /**
   * True if failures count in the choice: only while some replica that is not ejected has failed
   * fewer than five times in a row. Otherwise one that was ejected may well be healthy by now.
   */
  #heedsFailures({ modelId, replicas }: CatalogModel, nowMs: number): boolean {
    if (this.#failing.size === 0) return false;
    return replicas.some(
      ({ replicaId }) =>
        this.#joinsAtMs(modelId, replicaId) <= nowMs &&
        (this.#failingState(modelId, replicaId)?.failed ?? 0) < FAILED_IN_A_ROW,
    );
  }

  #answered(modelId: string, replicaId: string, nowMs: number): void {
    const failing = this.#failingState(modelId, replicaId);
    if (!failing) return;
    failing.failed = 0;
    rejoin(failing, nowMs);
    if (weight(failing.joinsAtMs, nowMs) === 1) this.#failing.delete(failingKey(modelId, replicaId));
  }

  #failed({ modelId, replicas }: CatalogModel, replicaId: string, nowMs: number): void {
    let failing = this.#failingState(modelId, replicaId);
    if (!failing) {
      failing = { failed: 0, times: 0, joinsAtMs: Number.NEGATIVE_INFINITY };
      this.#failing.set(failingKey(modelId, replicaId), failing);
    }
    failing.failed++;
    if (failing.failed < FAILED_IN_A_ROW) return;
    const othersAnswer = replicas.some(
      (other) =>
        other.replicaId !== replicaId &&
        this.#joinsAtMs(modelId, other.replicaId) <= nowMs &&
        !this.#failingState(modelId, other.replicaId)?.failed,
    );
    if (othersAnswer) eject(failing, nowMs);
  }

  /** Forgets replicas whose slow start is over. The catalog may have dropped them long ago. */
  #forget(nowMs: number): void {
    for (const [replicaId, { inFlight, joinsAtMs }] of this.#states) {
      if (inFlight === 0 && weight(joinsAtMs, nowMs) === 1) this.#states.delete(replicaId);
    }
  }

  #rank(modelId: string | null, replicaId: string, nowMs: number): number {
    const state = this.#states.get(replicaId);
    const inFlight = state ? state.inFlight : 0;
    const joinsAtMs = this.#joinsAtMs(modelId, replicaId, state);
    if (joinsAtMs > nowMs) return inFlight + Number.MAX_SAFE_INTEGER / 2;
    return (inFlight + 1) / weight(joinsAtMs, nowMs);
  }

  /** @param modelId null: failures are ignored */
  #joinsAtMs(modelId: string | null, replicaId: string, state = this.#states.get(replicaId)): number {
    const joinsAtMs = state ? state.joinsAtMs : Number.NEGATIVE_INFINITY;
    const failing = modelId === null ? undefined : this.#failingState(modelId, replicaId);
    return failing ? Math.max(joinsAtMs, failing.joinsAtMs) : joinsAtMs;
  }

  #failingState(modelId: string, replicaId: string): FailingState | undefined {
    // Usually none is failing. Then no key is built.
    return this.#failing.size === 0 ? undefined : this.#failing.get(failingKey(modelId, replicaId));
  }

  #state(replicaId: string): ReplicaState {
    let state = this.#states.get(replicaId);
    if (!state) {
      state = { inFlight: 0, times: 0, joinsAtMs: Number.NEGATIVE_INFINITY };
      this.#states.set(replicaId, state);
    }
    return state;
  }
}

const failingKey = (modelId: string, replicaId: string): string => `${modelId} ${replicaId}`;

function eject(ejection: Ejection, nowMs: number): void {
  // Calls that were under way together fail together, and count once.
  if (ejection.joinsAtMs <= nowMs) ejection.times++;
  ejection.joinsAtMs = nowMs + Math.min(FIRST_EJECTION_MS * 2 ** (ejection.times - 1), MAX_EJECTION_MS);
}

function rejoin(ejection: Ejection, nowMs: number): void {
  ejection.times = 0;
  // It has been answering all along, so it is not new to the load.
  if (ejection.joinsAtMs > nowMs) ejection.joinsAtMs = Number.NEGATIVE_INFINITY;
}

/** Grows to 1 while the slow start runs. */
const weight = (joinsAtMs: number, nowMs: number): number =>
  Math.min(1, Math.max(FIRST_WEIGHT, (nowMs - joinsAtMs) / SLOW_START_MS));
