import type { Db } from '@tidegate/db';
import { ofKey, oneOfPages } from '../keys/key-sql.ts';
import { ofModel } from '../models/model-sql.ts';
import { query, type Sql, sql } from '../sql.ts';
import { type Histogram, histogramFrom } from './histogram.ts';
import type { Period } from './period.ts';
import { ADDED, ADDED_AGAIN, SUMS, type Summed, type Sums, sumsOf } from './sums.ts';

/** Restricts usage to a key, a model or both. Null: all. */
export interface UsageFilter {
  readonly keyId: string | null;
  readonly modelId: string | null;
}

export interface StepUsage {
  /** As in the period. */
  readonly step: string;
  readonly sums: Sums;
}

export interface ModelUsage {
  readonly modelId: string;
  /** Null: the organization never had it, or its row is gone. */
  readonly model: string | null;
  readonly modelDeleted: boolean;
  readonly sums: Sums;
}

/** The usage of one key with one model. All page keys are one key, so that they do not pile up. */
export interface PairUsage extends ModelUsage {
  readonly keyId: string;
  readonly key: string | null;
  readonly keyPrefix: string | null;
}

export interface Usage {
  /** Only steps with requests. */
  readonly steps: readonly StepUsage[];
  /** Busiest first. */
  readonly models: readonly ModelUsage[];
  /** Busiest first, as many as were asked for. */
  readonly pairs: readonly PairUsage[];
  readonly pairCount: number;
}

/** The sums by step alone. */
export async function readSteps(
  db: Db,
  orgId: string,
  period: Period,
  filter: UsageFilter,
): Promise<readonly StepUsage[]> {
  const rows = await query<Summed & { readonly step: string }>(
    db,
    sql`SELECT ${period.step} AS step, ${ADDED} FROM ${period.table} ${where(orgId, period, filter)}
    GROUP BY ${period.column}`,
  );
  return rows.map((row) => ({ step: row.step, sums: sumsOf(row) }));
}

/** The sums of a step, a model or a pair. The columns of the other two are null. */
type Row = Summed & {
  readonly step: string | null;
  readonly keyId: string | null;
  readonly key: string | null;
  readonly keyPrefix: string | null;
  readonly modelId: string | null;
  readonly model: string | null;
  readonly modelDeleted: boolean;
  /** How many pairs there are. */
  readonly pairs: number;
};

const BUSIEST_FIRST = sql`requests DESC, prompt + completion DESC, "keyId" COLLATE "C", "modelId" COLLATE "C"`;

/**
 * The sums by step, by model and by pair. One pass over the stored rows adds up steps and pairs.
 * The pairs, which may be thousands, then add up to models, and only the pairs that are wanted
 * leave Postgres.
 *
 * @param maxPairs null: all
 */
export async function readUsage(
  db: Db,
  orgId: string,
  period: Period,
  filter: UsageFilter,
  maxPairs: number | null,
): Promise<Usage> {
  const rows = await query<Row>(
    db,
    sql`
    WITH used AS (
      SELECT ${period.column}, key_id, model_id, ${ADDED} FROM ${period.table} ${where(orgId, period, filter)}
      GROUP BY GROUPING SETS ((${period.column}), (key_id, model_id))
    ), summed AS (
      SELECT "keyId", model_id AS "modelId", ${ADDED_AGAIN}
      FROM (SELECT *, ${oneOfPages(sql`key_id`)} AS "keyId" FROM used WHERE key_id IS NOT NULL) used
      GROUP BY GROUPING SETS ((model_id), ("keyId", model_id))
    ), wanted AS (
      SELECT ${period.step} AS step, NULL AS "keyId", NULL AS "modelId", ${SUMS}, 0 AS pairs
      FROM used WHERE key_id IS NULL
      UNION ALL
      SELECT NULL, NULL, "modelId", ${SUMS}, 0 FROM summed WHERE "keyId" IS NULL
      UNION ALL
      (SELECT NULL, "keyId", "modelId", ${SUMS}, (count(*) OVER ())::int FROM summed WHERE "keyId" IS NOT NULL
       ORDER BY ${BUSIEST_FIRST} LIMIT ${maxPairs}::bigint)
    )
    SELECT wanted.*, api_key.name AS key, api_key.prefix AS "keyPrefix", model.name AS model,
      (model.id IS NULL OR model.deleted_at IS NOT NULL) AS "modelDeleted"
    FROM wanted
    LEFT JOIN api_key ON api_key.id = "keyId"
    LEFT JOIN model ON model.id = "modelId"
    ORDER BY ${BUSIEST_FIRST}`,
  );
  return usageFrom(rows);
}

function usageFrom(rows: readonly Row[]): Usage {
  const steps: StepUsage[] = [];
  const models: ModelUsage[] = [];
  const pairs: PairUsage[] = [];
  for (const row of rows) {
    const sums = sumsOf(row);
    const { step, keyId, key, keyPrefix, modelId, model, modelDeleted } = row;
    if (step !== null) steps.push({ step, sums });
    else if (modelId === null) continue;
    else if (keyId === null) models.push({ modelId, model, modelDeleted, sums });
    else pairs.push({ keyId, key, keyPrefix, modelId, model, modelDeleted, sums });
  }
  return { steps, models, pairs, pairCount: rows.find((row) => row.pairs > 0)?.pairs ?? 0 };
}

const where = (orgId: string, { within }: Period, { keyId, modelId }: UsageFilter): Sql =>
  sql`WHERE org_id = ${orgId} AND ${within} ${ofKey(keyId)} ${ofModel(modelId)}`;

export interface Histograms {
  readonly durations: Histogram;
  readonly firstChunks: Histogram;
}

/** How long requests took, by model. */
export async function readTimes(
  db: Db,
  orgId: string,
  { times }: Period,
  { modelId }: UsageFilter,
): Promise<ReadonlyMap<string, Histograms>> {
  const rows = await query<{ modelId: string; durations: string | null; firstChunks: string | null }>(
    db,
    sql`
    SELECT model_id AS "modelId", sum(durations)::text AS durations, sum(first_chunks)::text AS "firstChunks"
    FROM usage_time WHERE org_id = ${orgId} AND ${times} ${ofModel(modelId)}
    GROUP BY model_id`,
  );
  return new Map(
    rows.map((row) => [
      row.modelId,
      { durations: histogramFrom(row.durations), firstChunks: histogramFrom(row.firstChunks) },
    ]),
  );
}
