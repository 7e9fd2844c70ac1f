import { pause } from '../../pause.ts';
import { probePauseMs } from '../backoff.ts';
import type { DriverTimings, ReplicaAddress } from '../driver.ts';
import type { Problem } from './inspect.ts';

export interface ReplicaProbesOptions {
  readonly timings: DriverTimings;
  readonly random: () => number;
  readonly probe: (baseUrl: string, signal: AbortSignal) => Promise<Problem | null>;
  readonly onProbeFailure: () => void;
  /** Whether replicas that fail are probed often, since they may be starting. Default: never. */
  readonly isStarting?: () => boolean;
  /** Called after each probe, before `onChange`. */
  readonly onProbe?: (probed: ProbedReplica) => void;
  /** Called after each change, and after each probe while no replica can be called. */
  readonly onChange: () => void;
}

export interface ProbedReplica {
  readonly replica: ReplicaAddress;
  readonly healthy: boolean;
  /** What the last probe found. Null: nothing, or there was none yet. */
  readonly problem: Problem | null;
}

interface Probed extends ProbedReplica {
  readonly gone: AbortController;
  healthy: boolean;
  failures: number;
  problem: Problem | null;
}

/** Probes replicas that come and go, each on its own. */
export class ReplicaProbes {
  readonly #options: ReplicaProbesOptions;
  readonly #probed = new Map<string, Probed>();

  constructor(options: ReplicaProbesOptions) {
    this.#options = options;
  }

  get all(): readonly ProbedReplica[] {
    return [...this.#probed.values()];
  }

  /** The replicas that can be called. */
  get healthy(): ReplicaAddress[] {
    return this.all.flatMap(({ healthy, replica }) => (healthy ? replica : []));
  }

  /** What the last probes found wrong. */
  get problems(): Problem[] {
    return this.all.flatMap(({ problem }) => problem ?? []);
  }

  /** How many there are, whether they can be called or not. */
  get size(): number {
    return this.#probed.size;
  }

  /** @param healthy whether new ones count as healthy until a probe says otherwise */
  set(replicas: readonly ReplicaAddress[], healthy = false): void {
    const wanted = new Set(replicas.map(({ id }) => id));
    let changed = false;
    for (const [id, { gone }] of this.#probed) {
      if (wanted.has(id)) continue;
      gone.abort();
      this.#probed.delete(id);
      changed = true;
    }
    for (const replica of replicas) {
      if (this.#probed.has(replica.id)) continue;
      const probed: Probed = { replica, gone: new AbortController(), healthy, failures: 0, problem: null };
      this.#probed.set(replica.id, probed);
      void this.#watch(probed);
    }
    if (changed) this.#options.onChange();
  }

  /** From now on, replicas that fail are probed as if they had failed only once. */
  forgetFailures(): void {
    for (const probed of this.#probed.values()) probed.failures = Math.min(probed.failures, 1);
  }

  close(): void {
    for (const { gone } of this.#probed.values()) gone.abort();
    this.#probed.clear();
  }

  async #watch(probed: Probed): Promise<void> {
    const { timings, random, probe, isStarting, onProbe, onChange } = this.#options;
    const { signal } = probed.gone;
    while (!signal.aborted) {
      const problem = await probe(probed.replica.baseUrl, signal);
      if (signal.aborted) return;
      const changed = this.#note(probed, problem);
      onProbe?.(probed);
      if (changed || this.healthy.length === 0) onChange();
      const failures = isStarting?.() ? Math.min(probed.failures, 1) : probed.failures;
      await pause(probePauseMs(failures, timings, random), signal);
    }
  }

  /** Returns whether the replica came or went. */
  #note(probed: Probed, problem: Problem | null): boolean {
    const { timings, onProbeFailure } = this.#options;
    const before = probed.healthy;
    probed.problem = problem;
    probed.failures = problem === null ? 0 : probed.failures + 1;
    if (problem === null) probed.healthy = true;
    else {
      onProbeFailure();
      if (probed.failures >= timings.probesToEject) probed.healthy = false;
    }
    return probed.healthy !== before;
  }
}
