import type { Condition } from '@tidegate/contracts';
import { unseal } from '@tidegate/contracts';
import type { Model as ModelRow } from '@tidegate/db';
import type { Mode } from '../condition/machine.ts';
import { type DriverSettings, parseSettings } from '../drivers/settings.ts';
import type { UpstreamAccess } from '../drivers/upstream-access.ts';

/** A published model, read from its row and ready to run. */
export interface ModelSpec {
  readonly modelId: string;
  /** Grows with each change of the settings. Name, kind and mode never change. */
  readonly version: number;
  readonly orgId: string;
  readonly name: string;
  readonly kind: 'text' | 'vision';
  readonly mode: Mode;
  readonly contextTokens: number;
  readonly publishedAtMs: number;
  readonly sleepAfterMs: number;
  /** How much of its pool's capacity it takes while it runs. */
  readonly cost: number;
  /** It is never put to sleep to make room for another model. */
  readonly pinned: boolean;
  readonly access: UpstreamAccess;
  readonly driver: DriverSettings;
}

/** The condition in the model's row. The runner writes it, and reads it when it starts. */
export interface PersistedCondition {
  readonly condition: Condition;
  readonly reason: string;
  /** Since when. */
  readonly atMs: number;
}

/** Why a model cannot be called, for users. */
export const KEY_CANNOT_BE_UNSEALED =
  'Its upstream key cannot be unsealed: it was sealed under another secret key.';

export function specOf(row: ModelRow, secretKeys: readonly Uint8Array[]): ModelSpec {
  const upstreamKey = row.upstreamKey ? unseal(secretKeys, row.upstreamKey) : '';
  const driver: DriverSettings =
    upstreamKey === null
      ? { driver: 'unusable', reason: KEY_CANNOT_BE_UNSEALED }
      : parseSettings(row.driver, row.settings);
  return {
    modelId: row.id,
    version: row.version,
    orgId: row.orgId,
    name: row.name,
    kind: row.kind,
    mode: row.mode,
    contextTokens: row.contextTokens,
    publishedAtMs: row.publishedAt.getTime(),
    sleepAfterMs: row.sleepAfterS * 1_000,
    cost: row.cost,
    pinned: row.pinned,
    access: {
      name: row.upstreamModel ?? row.name,
      nameAssumed: row.upstreamModel === null,
      key: upstreamKey ?? '',
    },
    driver,
  };
}
