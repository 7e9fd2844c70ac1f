import { newKeyId, newModelId, newOrgId, newRequestId, type Settlement } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';

/**
 * For this app's tests: a settlement of an answered request, reserved at noon on 2026-11-21, with
 * new ids.
 */
export function settlement(fields: Partial<Settlement> = {}): Settlement {
  return {
    reservationId: newRequestId(),
    outboxId: '1-0',
    orgId: newOrgId(),
    keyId: newKeyId(),
    modelId: newModelId(),
    reservedAtMs: Date.UTC(2026, 10, 21, 12),
    answered: true,
    errorCode: null,
    streamed: false,
    reservedTokens: 4_096,
    promptTokens: 10,
    completionTokens: 5,
    chargedTokens: 15,
    durationMs: 100,
    firstChunkMs: null,
    ...fields,
  };
}

/** An error without usage. The full reservation stays charged. */
export const failure = (fields: Partial<Settlement> = {}): Settlement =>
  settlement({
    answered: false,
    errorCode: 'upstream_error',
    promptTokens: null,
    completionTokens: null,
    chargedTokens: 4_096,
    durationMs: null,
    ...fields,
  });

export interface WrittenUsage {
  readonly rows: number;
  /** Sums of the rows by organization, day, key and model. */
  readonly fromRows: unknown[];
  readonly rollup: unknown[];
  /** The same by hour. */
  readonly hoursFromRows: unknown[];
  readonly hours: unknown[];
  /** Histograms by model, of hours and of days. */
  readonly timesFromRows: unknown[];
  readonly times: unknown[];
  readonly monthsFromRows: unknown[];
  readonly months: unknown[];
}

/** Reads what is written: the sums of the rows, and the stored rollups. */
export async function readWrittenUsage(db: Db): Promise<WrittenUsage> {
  const [{ rows } = { rows: 0 }] = await db.$queryRaw<
    { rows: number }[]
  >`SELECT count(*)::int AS rows FROM request`;
  const fromRows = await sumsOf(db, 'day::text');
  const hoursFromRows = await sumsOf(db, HOUR_OF_RESERVATION);
  const rollup = await storedIn(db, 'usage_day', 'day::text');
  const hours = await storedIn(db, 'usage_hour', HOUR);
  const timesFromRows = await db.$queryRaw<unknown[]>`
    SELECT org_id, step, extract(epoch FROM date_trunc(step, admitted_at, 'UTC'))::text AS at, model_id,
      sum(histogram_of(duration_ms))::text AS durations, sum(histogram_of(first_chunk_ms))::text AS first_chunks
    FROM request, unnest(ARRAY['hour', 'day']) step GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`;
  const times = await db.$queryRaw<unknown[]>`
    SELECT org_id, step, extract(epoch FROM at)::text AS at, model_id, durations::text, first_chunks::text
    FROM usage_time ORDER BY 1, 2, 3, 4`;
  const monthsFromRows = await db.$queryRaw<unknown[]>`
    SELECT org_id, to_char(day, 'YYYY-MM') AS month, count(*)::text AS requests, sum(charged_tokens)::text AS charged
    FROM request GROUP BY 1, 2 ORDER BY 1, 2`;
  const months = await db.$queryRaw<unknown[]>`
    SELECT org_id, month::text, requests::text, charged_tokens::text AS charged FROM month_total ORDER BY 1, 2`;
  return {
    rows,
    fromRows,
    rollup,
    hoursFromRows,
    hours,
    timesFromRows,
    times,
    monthsFromRows,
    months,
  };
}

const HOUR = `to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')`;
const HOUR_OF_RESERVATION = `to_char(admitted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:00')`;

const sumsOf = (db: Db, step: string): Promise<unknown[]> =>
  db.$queryRawUnsafe(`
    SELECT org_id, ${step} AS step, key_id, model_id, count(*)::text AS requests,
      (count(*) FILTER (WHERE NOT answered))::text AS errors,
      coalesce(sum(prompt_tokens), 0)::text AS prompt, coalesce(sum(completion_tokens), 0)::text AS completion,
      coalesce(sum(charged_tokens) FILTER (WHERE prompt_tokens IS NULL), 0)::text AS unreported,
      coalesce(sum(duration_ms), 0)::text AS ms, count(duration_ms)::text AS timed
    FROM request GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`);

const storedIn = (db: Db, table: string, step: string): Promise<unknown[]> =>
  db.$queryRawUnsafe(`
    SELECT org_id, ${step} AS step, key_id, model_id, requests::text, errors::text, prompt_tokens::text AS prompt,
      completion_tokens::text AS completion, unreported_tokens::text AS unreported,
      duration_ms_sum::text AS ms, duration_count::text AS timed
    FROM ${table} ORDER BY 1, 2, 3, 4`);
