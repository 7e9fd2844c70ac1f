import type { Model } from '@tidegate/db';
import type { Condition } from '../deps.ts';

export interface ModelView {
  readonly id: string;
  readonly name: string;
  readonly kind: 'text' | 'vision';
  readonly mode: 'always_on' | 'wake_on_request';
  readonly contextTokens: number;
  readonly driver: string;
  /** Idle time after which a wake-on-request model sleeps; null for one that is always on. */
  readonly sleepAfterS: number | null;
  readonly condition: Condition;
  /** Why it failed; null otherwise. */
  readonly conditionReason: string | null;
  /** ISO 8601. */
  readonly publishedAt: string;
}

/** A model as lists show it: with what it is doing right now. */
export interface ListedModelView extends ModelView {
  /** Requests in flight, of every gateway; null: not asked for, or the runner, which knows them, could not be reached. */
  readonly inFlight: number | null;
}

/** A change of a model that is written whether or not the runner has heard of it. */
export interface ModelChange extends ModelView {
  /** False: the runner could not be reached and reads the change when it is back; until then gateways have the old state. */
  readonly runnerTold: boolean;
}

export const modelView = (row: Model): ModelView => ({
  id: row.id,
  name: row.name,
  kind: row.kind,
  mode: row.mode,
  contextTokens: row.contextTokens,
  driver: row.driver,
  sleepAfterS: row.mode === 'wake_on_request' ? row.sleepAfterS : null,
  condition: row.condition,
  conditionReason: row.conditionReason,
  publishedAt: row.publishedAt.toISOString(),
});
