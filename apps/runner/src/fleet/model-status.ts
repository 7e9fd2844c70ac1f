import type { Condition } from '@tidegate/contracts';
import type { DownReplica } from '../drivers/driver.ts';

/** A model's state in the form that callers get. */
export interface ModelStatus {
  readonly modelId: string;
  readonly condition: Condition;
  readonly reason: string;
  /** The first revision of the catalog that shows it. */
  readonly revision: number;
}

/**
 * The outcome of a wake. `busy`: too many callers wait for the model. Null: the caller gave up.
 * Undefined: there is no such model.
 */
export type Woken = ModelStatus | 'busy' | null | undefined;

/** For metrics and traces. */
export function outcomeOf(woken: Woken): string {
  if (woken === undefined) return 'unknown_model';
  if (woken === null) return 'gave_up';
  return woken === 'busy' ? woken : woken.condition;
}

/** How many of a model's replicas can be called, and which ones cannot. */
export interface ReplicaCount {
  readonly up: number;
  readonly total: number;
  readonly down: DownReplica[];
}
