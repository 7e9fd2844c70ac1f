import { unseal } from '@tidegate/contracts';
import type { Db, Model as ModelRow } from '@tidegate/db';
import type { Lead } from '../lead/lead.ts';
import { type ModelSpec, type PersistedCondition, specOf } from './spec.ts';

export interface StoredModel {
  readonly spec: ModelSpec;
  readonly persisted: PersistedCondition;
}

/** The workload of a deleted model. */
export interface LeftWorkload {
  readonly settings: unknown;
  /** Whether it now belongs to another model. */
  readonly taken: boolean;
}

const LEFT_AT_ONCE = 200;

/** The published models of a pool, in Postgres. */
export interface ModelStore {
  /** The versions of all published models, by model id. */
  versions(): Promise<Map<string, number>>;
  /** The pool's capacity. Null: it has none, and there is room for every model. */
  capacity(): Promise<number | null>;
  /** Reads some models. Deleted ones, and those of other pools, are left out. */
  some(modelIds: readonly string[]): Promise<StoredModel[]>;
  /**
   * Unseals a model's upstream key, whatever pool the model is in: it may be about to move. Empty:
   * it has none. Null: the key cannot be unsealed. Undefined: the model is unknown or deleted.
   */
  upstreamKey(modelId: string): Promise<string | null | undefined>;
  writeCondition(modelId: string, condition: PersistedCondition): Promise<void>;
  /**
   * The next deleted models that left workloads behind, in the order of their ids. Empty: there are
   * no more after this one.
   */
  leftAfter(modelId: string): Promise<string[]>;
  /** What a deleted model left behind. Null: nothing, or it has been forgotten. */
  leftWorkload(modelId: string): Promise<LeftWorkload | null>;
  /** Forgets a workload that a deleted model left behind. */
  forgetWorkload(modelId: string): Promise<void>;
}

/** Writes through the lead, so that a runner that no longer leads writes nothing. */
export function postgresStore(
  db: Db,
  pool: string,
  secretKeys: readonly Uint8Array[],
  lead: Pick<Lead, 'writeCondition'>,
): ModelStore {
  const stored = (row: ModelRow): StoredModel => ({
    spec: specOf(row, secretKeys),
    persisted: {
      condition: row.condition,
      reason: row.conditionReason ?? '',
      atMs: row.conditionAt.getTime(),
    },
  });
  return {
    // This is SQL because it runs often: preparing the typed query costs many times more.
    versions: async () => {
      const rows = await db.$queryRaw<{ id: string; version: number }[]>`
        SELECT id, version FROM model WHERE pool = ${pool} AND deleted_at IS NULL`;
      return new Map(rows.map(({ id, version }) => [id, version]));
    },
    capacity: async () => {
      const [row] = await db.$queryRaw<{ capacity: number }[]>`
        SELECT capacity FROM runner_pool WHERE name = ${pool}`;
      return row?.capacity ?? null;
    },
    some: async (modelIds) =>
      (await db.model.findMany({ where: { id: { in: [...modelIds] }, pool, deletedAt: null } })).map(stored),
    upstreamKey: async (modelId) => {
      const select = { upstreamKey: true };
      const row = await db.model.findFirst({ where: { id: modelId, deletedAt: null }, select });
      return row?.upstreamKey ? unseal(secretKeys, row.upstreamKey) : row ? '' : undefined;
    },
    writeCondition: (modelId, { condition, reason, atMs }) =>
      lead.writeCondition({ modelId, condition, reason: reason || null, at: new Date(atMs) }),
    leftAfter: async (modelId) => {
      const rows = await db.$queryRaw<{ modelId: string }[]>`
        SELECT model_id AS "modelId" FROM left_workload
        WHERE pool = ${pool} AND model_id > ${modelId} ORDER BY model_id LIMIT ${LEFT_AT_ONCE}`;
      return rows.map((row) => row.modelId);
    },
    leftWorkload: async (modelId) => {
      const [row] = await db.$queryRaw<LeftWorkload[]>`
        SELECT l.settings, EXISTS (
          SELECT FROM model m WHERE m.driver = 'kubernetes' AND m.deleted_at IS NULL
            AND m.settings->>'namespace' = l.settings->>'namespace'
            AND m.settings->>'kind' = l.settings->>'kind' AND m.settings->>'name' = l.settings->>'name'
        ) AS taken
        FROM left_workload l WHERE l.model_id = ${modelId}`;
      return row ?? null;
    },
    forgetWorkload: async (modelId) => {
      await db.leftWorkload.deleteMany({ where: { modelId } });
    },
  };
}
