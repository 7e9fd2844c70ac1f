import type { CatalogModel } from './catalog.ts';

export interface Replica {
  readonly replicaId: string;
  readonly baseUrl: string;
}

interface ReplicaState {
  inFlight: number;
  failures: number;
  /**
   * When it joined or joins the others. Until then it is ejected, and from then on its slow start
   * runs.
   */
  joinsAtMs: number;
}

const FIRST_EJECTION_MS = 1_000;
const MAX_EJECTION_MS = 30_000;
const MAX_STATES = 1_000;
const SLOW_START_MS = 10_000;
const FIRST_WEIGHT = 0.1;

/**
 * Chooses among a model's replicas: the one with the fewest requests in flight from this gateway,
 * in rotation among equals. A replica that fails to answer is passed over for a second, doubling up
 * to half a minute, unless all the others are passed over too.
 *
 * A replica that comes back from that, or joins others, has the fewest in flight and would get
 * every new request, with its caches still cold. So for 10 s it counts as a growing part of a
 * replica: with weight `w` it never gets more in flight than `w` times what the others have.
 */
export class Replicas {
  readonly #states = new Map<string, ReplicaState>();
  readonly #nowMs: () => number;
  #turn = 0;

  /** @param nowMs monotonic clock */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * Counts a request to the chosen replica until `release`. Returns null if there is no replica
   * other than the excluded one.
   */
  take(model: CatalogModel, excludedId?: string): Replica | null {
    const { replicas } = model;
    const nowMs = this.#nowMs();
    let best: Replica | null = null;
    let bestRank = Number.POSITIVE_INFINITY;
    this.#turn++;
    for (let i = 0; i < replicas.length; i++) {
      const replica = replicas[(i + this.#turn) % replicas.length] as Replica;
      if (replica.replicaId === excludedId) continue;
      const rank = this.#rank(replica.replicaId, nowMs);
      if (rank < bestRank) [best, bestRank] = [replica, rank];
    }
    if (best) this.#state(best.replicaId).inFlight++;
    return best;
  }

  /** Takes a model's replicas before and after a change, so that new ones start slowly. */
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

  /**
   * @param answered whether the replica answered at all; null if the request ended for another
   *   reason
   */
  release({ replicaId }: Replica, answered: boolean | null): void {
    const nowMs = this.#nowMs();
    const state = this.#state(replicaId);
    state.inFlight--;
    if (answered) {
      state.failures = 0;
      // It has been answering all along, so it is not new to the load.
      if (state.joinsAtMs > nowMs) state.joinsAtMs = Number.NEGATIVE_INFINITY;
    }
    if (answered === false) {
      const ejectionMs = Math.min(FIRST_EJECTION_MS * 2 ** state.failures++, MAX_EJECTION_MS);
      state.joinsAtMs = nowMs + ejectionMs;
    }
    if (state.inFlight === 0 && state.failures === 0 && weight(state, nowMs) === 1)
      this.#states.delete(replicaId);
    if (this.#states.size > MAX_STATES) this.#forget(nowMs);
  }

  /** Whether the replica is passed over now. */
  isEjected({ replicaId }: Replica): boolean {
    const state = this.#states.get(replicaId);
    return state !== undefined && state.joinsAtMs > this.#nowMs();
  }

  /** Forgets replicas whose slow start is over. The catalog may have dropped them long ago. */
  #forget(nowMs: number): void {
    for (const [replicaId, state] of this.#states) {
      if (state.inFlight === 0 && weight(state, nowMs) === 1) this.#states.delete(replicaId);
    }
  }

  #rank(replicaId: string, nowMs: number): number {
    const state = this.#states.get(replicaId);
    if (!state) return 1;
    if (state.joinsAtMs > nowMs) return state.inFlight + Number.MAX_SAFE_INTEGER / 2;
    return (state.inFlight + 1) / weight(state, nowMs);
  }

  #state(replicaId: string): ReplicaState {
    let state = this.#states.get(replicaId);
    if (!state) {
      state = { inFlight: 0, failures: 0, joinsAtMs: Number.NEGATIVE_INFINITY };
      this.#states.set(replicaId, state);
    }
    return state;
  }
}

/** Grows to 1 while the slow start runs. */
const weight = ({ joinsAtMs }: ReplicaState, nowMs: number): number =>
  Math.min(1, Math.max(FIRST_WEIGHT, (nowMs - joinsAtMs) / SLOW_START_MS));
