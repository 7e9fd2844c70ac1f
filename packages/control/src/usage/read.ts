import type { Db } from '@tidegate/db';
import { keyNameOf, ofKey } from '../keys/of-key.ts';
import { NOTHING as NO_SQL, query, type Sql, sql } from '../sql.ts';
import { type Histogram, histogramFrom, percentilesOf, together } from './histogram.ts';
import type { Period } from './period.ts';
import {
  add,
  type Counts,
  countsOf,
  nothing,
  oneOfPages,
  type Pair,
  type PairNames,
  pairOf,
  type Summed,
  type Sums,
  sumsOf,
} from './sums.ts';

/** Estimates from histograms, within 5 %. Null: no time is known, or not by key. */
export interface TimePercentiles {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** Of streams: the time to the first chunk. */
  readonly firstChunkP50Ms: number | null;
  readonly firstChunkP95Ms: number | null;
}

export interface UsageStepView extends Counts {
  /** The UTC day of admission, YYYY-MM-DD, or the first instant of the hour, ISO 8601. */
  readonly step: string;
  /** `requests` minus `errors`. */
  readonly answered: number;
}

export interface UsageModelView extends Counts, TimePercentiles {
  readonly modelId: string;
  readonly model: string;
  /** The model is no longer published. */
  readonly modelDeleted: boolean;
}

export interface UsageRowView extends Counts {
  readonly keyId: string;
  /** The key's name, or `A deleted key`. Keys of pages are one: `Try it`. */
  readonly key: string;
  /** The key's first characters. Null: it is deleted, or stands for those of pages. */
  readonly keyPrefix: string | null;
  readonly modelId: string;
  readonly model: string;
  /** The model is no longer published. */
  readonly modelDeleted: boolean;
}

/** Restricts usage to a key, a model or both. Null: all. */
export interface UsageFilter {
  readonly keyId: string | null;
  readonly modelId: string | null;
}

const EVERYTHING: UsageFilter = { keyId: null, modelId: null };

const SUMS = sql`sum(requests)::bigint AS requests, sum(errors)::bigint AS errors,
  sum(prompt_tokens)::bigint AS prompt, sum(completion_tokens)::bigint AS completion,
  sum(unreported_tokens)::bigint AS unreported, sum(duration_ms_sum)::bigint AS ms,
  sum(duration_count)::bigint AS timed`;

/** A sum by step or by pair. The columns of the other are null. */
type Row = Summed & PairNames & { readonly step: string | null };

/**
 * The sums by step of what the filter lets through, also of steps without requests. And those of
 * every pair, busiest first, if they are wanted.
 */
export async function readUsage(
  db: Db,
  orgId: string,
  period: Period,
  filter: UsageFilter = EVERYTHING,
  withPairs = true,
): Promise<{ totals: Counts; steps: UsageStepView[]; pairs: readonly Pair[] }> {
  const [bySteps, byPairs] = [sql`${period.step} AS step`, sql`key_id AS "keyId", model_id AS "modelId"`];
  const [noStep, noPair] = [sql`NULL AS step`, sql`NULL AS "keyId", NULL AS "modelId"`];
  const sums = (columns: Sql, by: Sql, of: UsageFilter) =>
    sumsBy(db, sql`${columns}, ${SUMS}`, by, orgId, period, of);
  // Without a filter, one pass over the rows counts both.
  const both = sql`GROUPING SETS ((${period.column}), (key_id, model_id))`;
  const isFiltered = filter.keyId !== null || filter.modelId !== null;
  const ofFilter = () => sums(sql`${bySteps}, ${noPair}`, period.column, filter);
  const ofPairs = () => sums(sql`${noStep}, ${byPairs}`, sql`key_id, model_id`, EVERYTHING);
  const parts = !withPairs
    ? [ofFilter()]
    : isFiltered
      ? [ofFilter(), ofPairs()]
      : [sums(sql`${bySteps}, ${byPairs}`, both, EVERYTHING)];
  const rows = (await Promise.all(parts)).flat();
  const ofSteps = rows.filter(({ step }) => step !== null);
  const byStep = new Map(ofSteps.map((row) => [row.step, row]));
  return {
    totals: countsOf(ofSteps.map(sumsOf).reduce(add, nothing())),
    steps: period.steps.map((step) => {
      const row = byStep.get(step);
      const counts = countsOf(row ? sumsOf(row) : nothing());
      return { step, ...counts, answered: counts.requests - counts.errors };
    }),
    pairs: oneOfPages(rows.filter(({ keyId: id }) => id !== null).map(pairOf)),
  };
}

/** @param columns with sums @param by what they are grouped by */
const sumsBy = (
  db: Db,
  columns: Sql,
  by: Sql,
  orgId: string,
  { table, within }: Period,
  { keyId, modelId }: UsageFilter,
): Promise<Row[]> =>
  query<Row>(
    db,
    sql`
    SELECT used.*, api_key.name AS key, api_key.prefix AS "keyPrefix", model.name AS model,
      (model.id IS NULL OR model.deleted_at IS NOT NULL) AS "modelDeleted"
    FROM (
      SELECT ${columns} FROM ${table}
      WHERE org_id = ${orgId} AND ${within} ${ofKey(keyId)}
        ${modelId === null ? NO_SQL : sql`AND model_id = ${modelId}`}
      GROUP BY ${by}
    ) used
    LEFT JOIN api_key ON api_key.id = used."keyId"
    LEFT JOIN model ON model.id = used."modelId"
    ORDER BY used.requests DESC, used.prompt + used.completion DESC, used."keyId", used."modelId"`,
  );

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
    FROM usage_time WHERE org_id = ${orgId} AND ${times}
      ${modelId === null ? NO_SQL : sql`AND model_id = ${modelId}`}
    GROUP BY model_id`,
  );
  return new Map(
    rows.map((row) => [
      row.modelId,
      { durations: histogramFrom(row.durations), firstChunks: histogramFrom(row.firstChunks) },
    ]),
  );
}

export const rowsOf = (pairs: readonly Pair[]): UsageRowView[] =>
  pairs.map((pair) => {
    const counts = countsOf(pair);
    // Written out: there may be thousands, and copies of objects are slow.
    return {
      keyId: pair.keyId,
      key: keyNameOf(pair.keyId, pair.key),
      keyPrefix: pair.keyPrefix,
      modelId: pair.modelId,
      model: pair.model ?? pair.modelId,
      modelDeleted: pair.modelDeleted,
      requests: counts.requests,
      errors: counts.errors,
      promptTokens: counts.promptTokens,
      completionTokens: counts.completionTokens,
      reservedTokens: counts.reservedTokens,
      averageMs: counts.averageMs,
    };
  });

/** Adds pairs up by model, busiest first. */
export function modelsOf(pairs: readonly Pair[], times: ReadonlyMap<string, Histograms>): UsageModelView[] {
  const models = new Map<string, { readonly of: Pair; readonly sums: Sums }>();
  for (const of of pairs) {
    const model = models.get(of.modelId) ?? { of, sums: nothing() };
    models.set(of.modelId, model);
    add(model.sums, of);
  }
  return [...models.values()]
    .map(({ of: { modelId, model, modelDeleted }, sums }) => ({
      ...{ modelId, model: model ?? modelId, modelDeleted },
      ...countsOf(sums),
      ...timesOf(times.get(modelId)),
    }))
    .sort((a, b) => b.requests - a.requests || (a.modelId < b.modelId ? -1 : 1));
}

export function timesOf({ durations, firstChunks }: Histograms = NO_TIMES): TimePercentiles {
  const first = percentilesOf(firstChunks);
  return { ...percentilesOf(durations), firstChunkP50Ms: first.p50Ms, firstChunkP95Ms: first.p95Ms };
}

/** The histograms of all models together. */
export const allTimes = (times: Iterable<Histograms>): Histograms => {
  const all = [...times];
  return {
    durations: together(all.map(({ durations }) => durations)),
    firstChunks: together(all.map(({ firstChunks }) => firstChunks)),
  };
};

export interface Histograms {
  readonly durations: Histogram;
  readonly firstChunks: Histogram;
}

const NO_TIMES: Histograms = { durations: [], firstChunks: [] };
