import type { Db } from '@tidegate/db';
import { DELETED_KEY } from '../keys/view.ts';
import { toNumber } from '../numbers.ts';

export interface Counts {
  readonly requests: number;
  /** Requests that did not end with a complete answer. */
  readonly errors: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Full reservations that were charged without usage ("reserved or unreported"). */
  readonly reservedTokens: number;
  /** The mean duration of the requests whose duration is known. Null: there are none. */
  readonly averageMs: number | null;
}

export interface UsageDayView extends Counts {
  /** The UTC day of admission, YYYY-MM-DD. */
  readonly day: string;
  /** `requests` minus `errors`. */
  readonly answered: number;
}

export interface UsageRowView extends Counts {
  readonly keyId: string;
  /** The key's name, or `A deleted key`. */
  readonly key: string;
  /** The key's first characters. Null: it is deleted. */
  readonly keyPrefix: string | null;
  readonly modelId: string;
  readonly model: string;
  /** The model is no longer published. */
  readonly modelDeleted: boolean;
}

interface Sums {
  readonly requests: bigint;
  readonly errors: bigint;
  readonly prompt: bigint;
  readonly completion: bigint;
  readonly unreported: bigint;
  readonly ms: bigint;
  readonly timed: bigint;
}

const NOTHING: Sums = {
  requests: 0n,
  errors: 0n,
  prompt: 0n,
  completion: 0n,
  unreported: 0n,
  ms: 0n,
  timed: 0n,
};

/** Restricts usage to a key, a model or both. Null: all. */
export interface UsageFilter {
  readonly keyId: string | null;
  readonly modelId: string | null;
}

const EVERYTHING: UsageFilter = { keyId: null, modelId: null };

/** @param window the days, YYYY-MM-DD, ascending and without gaps */
export async function readDays(
  db: Db,
  orgId: string,
  window: readonly string[],
  { keyId, modelId }: UsageFilter = EVERYTHING,
): Promise<{ totals: Counts; days: UsageDayView[] }> {
  const rows = await db.$queryRaw<(Sums & { day: string })[]>`
    SELECT to_char(day, 'YYYY-MM-DD') AS day,
      sum(requests)::bigint AS requests, sum(errors)::bigint AS errors,
      sum(prompt_tokens)::bigint AS prompt, sum(completion_tokens)::bigint AS completion,
      sum(unreported_tokens)::bigint AS unreported, sum(duration_ms_sum)::bigint AS ms, sum(duration_count)::bigint AS timed
    FROM usage_day
    WHERE org_id = ${orgId} AND day BETWEEN ${window[0]}::date AND ${window.at(-1)}::date
      AND (${keyId}::text IS NULL OR key_id = ${keyId}) AND (${modelId}::text IS NULL OR model_id = ${modelId})
    GROUP BY day`;
  const byDay = new Map(rows.map((row) => [row.day, row]));
  const days = window.map((day) => {
    const counts = countsOf(byDay.get(day) ?? NOTHING);
    return { day, ...counts, answered: counts.requests - counts.errors };
  });
  return { totals: countsOf(rows.reduce(add, NOTHING)), days };
}

/** @param first YYYY-MM-DD @param last YYYY-MM-DD, included */
export async function readRows(db: Db, orgId: string, first: string, last: string): Promise<UsageRowView[]> {
  const rows = await db.$queryRaw<(Sums & Names)[]>`
    SELECT used.*, api_key.name AS key, api_key.prefix AS key_prefix,
      model.name AS model, coalesce(model.deleted_at IS NOT NULL, true) AS model_deleted
    FROM (
      SELECT key_id, model_id,
        sum(requests)::bigint AS requests, sum(errors)::bigint AS errors,
        sum(prompt_tokens)::bigint AS prompt, sum(completion_tokens)::bigint AS completion,
        sum(unreported_tokens)::bigint AS unreported, sum(duration_ms_sum)::bigint AS ms, sum(duration_count)::bigint AS timed
      FROM usage_day
      WHERE org_id = ${orgId} AND day BETWEEN ${first}::date AND ${last}::date
      GROUP BY key_id, model_id
    ) used
    LEFT JOIN api_key ON api_key.id = used.key_id
    LEFT JOIN model ON model.id = used.model_id
    ORDER BY used.requests DESC, used.prompt + used.completion DESC, used.key_id, used.model_id`;
  return rows.map((row) => ({
    keyId: row.key_id,
    key: row.key ?? DELETED_KEY,
    keyPrefix: row.key_prefix,
    modelId: row.model_id,
    model: row.model ?? row.model_id,
    modelDeleted: row.model_deleted,
    ...countsOf(row),
  }));
}

interface Names {
  readonly key_id: string;
  readonly key: string | null;
  readonly key_prefix: string | null;
  readonly model_id: string;
  readonly model: string | null;
  readonly model_deleted: boolean;
}

const add = (a: Sums, b: Sums): Sums => ({
  requests: a.requests + b.requests,
  errors: a.errors + b.errors,
  prompt: a.prompt + b.prompt,
  completion: a.completion + b.completion,
  unreported: a.unreported + b.unreported,
  ms: a.ms + b.ms,
  timed: a.timed + b.timed,
});

const countsOf = (sums: Sums): Counts => ({
  requests: toNumber(sums.requests),
  errors: toNumber(sums.errors),
  promptTokens: toNumber(sums.prompt),
  completionTokens: toNumber(sums.completion),
  reservedTokens: toNumber(sums.unreported),
  averageMs: sums.timed === 0n ? null : Math.round(toNumber(sums.ms) / toNumber(sums.timed)),
});
