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

/** How many of a model's replicas can be called, and which ones cannot. */
export interface ReplicaCount {
  readonly up: number;
  readonly total: number;
  readonly down: DownReplica[];
}
