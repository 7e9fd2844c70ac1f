import type { CatalogModel } from './catalog.ts';

export interface Replica {
  readonly replicaId: string;
  readonly baseUrl: string;
}

interface ReplicaState {
  inFlight: number;
  failures: number;
  ejectedUntilMs: number;
}

const FIRST_EJECTION_MS = 1_000;
const MAX_EJECTION_MS = 30_000;
const MAX_STATES = 1_000;

/**
 * Chooses among a model's replicas: the one with the fewest requests in flight from this gateway,
 * in rotation among equals. A replica that fails to answer is passed over for a second, doubling up
 * to half a minute, unless all the others are passed over too.
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

  /**
   * @param answered whether the replica answered at all; null if the request ended for another
   *   reason
   */
  release({ replicaId }: Replica, answered: boolean | null): void {
    const state = this.#state(replicaId);
    state.inFlight--;
    if (answered) state.failures = state.ejectedUntilMs = 0;
    if (answered === false) {
      const ejectionMs = Math.min(FIRST_EJECTION_MS * 2 ** state.failures++, MAX_EJECTION_MS);
      state.ejectedUntilMs = this.#nowMs() + ejectionMs;
    }
    if (state.inFlight === 0 && state.failures === 0) this.#states.delete(replicaId);
    if (this.#states.size > MAX_STATES) this.#forgetFailed();
  }

  /** Whether the replica is passed over now. */
  isEjected({ replicaId }: Replica): boolean {
    return (this.#states.get(replicaId)?.ejectedUntilMs ?? 0) > this.#nowMs();
  }

  /** Forgets replicas whose ejection is over. The catalog may have dropped them long ago. */
  #forgetFailed(): void {
    const nowMs = this.#nowMs();
    for (const [replicaId, { inFlight, ejectedUntilMs }] of this.#states) {
      if (inFlight === 0 && ejectedUntilMs <= nowMs) this.#states.delete(replicaId);
    }
  }

  #rank(replicaId: string, nowMs: number): number {
    const state = this.#states.get(replicaId);
    if (!state) return 0;
    return state.inFlight + (state.ejectedUntilMs > nowMs ? Number.MAX_SAFE_INTEGER / 2 : 0);
  }

  #state(replicaId: string): ReplicaState {
    const state = this.#states.get(replicaId) ?? { inFlight: 0, failures: 0, ejectedUntilMs: 0 };
    this.#states.set(replicaId, state);
    return state;
  }
}
