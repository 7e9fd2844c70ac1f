import type { Db } from '@tidegate/db';
import { dayOf } from '@tidegate/limits';
import { ofKey } from '../keys/key-sql.ts';
import { ofModel } from '../models/model-sql.ts';
import { NOTHING, query, type Sql, sql } from '../sql.ts';

/** A row of `request`, as these queries read it. */
export interface RequestRow {
  readonly reservationId: string;
  readonly keyId: string;
  readonly modelId: string;
  readonly reservedAt: Date;
  readonly answered: boolean;
  readonly errorCode: string | null;
  readonly streamed: boolean;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly reservedTokens: number;
  readonly chargedTokens: number;
  readonly durationMs: number | null;
  readonly firstChunkMs: number | null;
}

/** `errors`: any that was not answered. Otherwise an error code. */
export type OutcomeFilter = 'answered' | 'errors' | (string & {});

export interface RequestFilter {
  readonly orgId: string;
  readonly keyId: string | null;
  readonly modelId: string | null;
  readonly outcome: OutcomeFilter | null;
  /** Unix ms, included. */
  readonly fromMs: number;
  /** Unix ms, not included. */
  readonly toMs: number;
  /** Only requests that come after this one in the list: older ones. */
  readonly after: { readonly reservedAtMs: number; readonly reservationId: string } | null;
}

const COLUMNS = sql`r.reservation_id AS "reservationId", r.key_id AS "keyId", r.model_id AS "modelId",
  r.admitted_at AS "reservedAt", r.answered, r.error_code AS "errorCode", r.streamed,
  r.prompt_tokens AS "promptTokens", r.completion_tokens AS "completionTokens",
  r.reserved_tokens AS "reservedTokens", r.charged_tokens AS "chargedTokens", r.duration_ms AS "durationMs",
  r.first_chunk_ms AS "firstChunkMs"`;
const NEWEST_FIRST = sql`ORDER BY r.admitted_at DESC, r.reservation_id DESC`;

/**
 * Reads the newest requests that match, at most `count`. Goes day by day, from the newest, through
 * the days on which the rollup has matching requests. Each day is one partition, whose index has
 * the rows in this order, so the cost does not grow with the number of requests.
 */
export async function readRequests(db: Db, filter: RequestFilter, count: number): Promise<RequestRow[]> {
  const rows: RequestRow[] = [];
  for (const day of await daysOf(db, filter)) {
    rows.push(...(await query<RequestRow>(db, ofDay(filter, day, count - rows.length))));
    if (rows.length >= count) break;
  }
  return rows;
}

/** Finds a request by its id, in all days that are kept. */
export async function readRequest(db: Db, orgId: string, reservationId: string): Promise<RequestRow | null> {
  const [row] = await query<RequestRow>(
    db,
    sql`SELECT ${COLUMNS} FROM request r WHERE r.reservation_id = ${reservationId} AND r.org_id = ${orgId}`,
  );
  return row ?? null;
}

/** The days with requests that may match, YYYY-MM-DD, newest first. */
async function daysOf(db: Db, filter: RequestFilter): Promise<string[]> {
  const { orgId, keyId, modelId, outcome, fromMs, toMs, after } = filter;
  const last = dayOf(after ? Math.min(after.reservedAtMs, toMs - 1) : toMs - 1);
  const kind =
    outcome === null ? NOTHING : outcome === 'answered' ? sql`AND requests > errors` : sql`AND errors > 0`;
  // Each day is looked up on its own, because it may have many rows. Without ORDER BY, Postgres may
  // read the table from its beginning instead, in the hope that a matching row comes soon.
  const days = sql`
    SELECT to_char(wanted.day, 'YYYY-MM-DD') AS day
    FROM generate_series(${dayOf(fromMs)}::timestamp, ${last}::timestamp, '1 day') wanted(day)
    WHERE (
      SELECT true FROM usage_day WHERE org_id = ${orgId} AND usage_day.day = wanted.day::date
        ${ofKey(keyId)} ${ofModel(modelId)} ${kind}
      ORDER BY key_id, model_id LIMIT 1)
    ORDER BY wanted.day DESC`;
  const rows = await query<{ day: string }>(db, days);
  return rows.map(({ day }) => day);
}

function ofDay(filter: RequestFilter, day: string, count: number): Sql {
  const { orgId, keyId, modelId, outcome } = filter;
  const where = sql`r.day = ${day}::date AND r.org_id = ${orgId} ${within(filter)} ${ending(outcome)}`;
  const named = sql`${ofKey(keyId, sql`r.key_id`)} ${ofModel(modelId, sql`r.model_id`)}`;
  const isOfErrors = outcome !== null && outcome !== 'answered';
  if (isOfErrors || (keyId === null && modelId === null))
    return sql`SELECT ${COLUMNS} FROM request r WHERE ${where} ${named} ${NEWEST_FIRST} LIMIT ${count}`;
  // The newest of each key with each model, from the index that has them, and then the newest of
  // these.
  return sql`
    SELECT ${COLUMNS} FROM usage_day used CROSS JOIN LATERAL (
      SELECT * FROM request r
      WHERE ${where} AND r.key_id = used.key_id AND r.model_id = used.model_id
      ${NEWEST_FIRST} LIMIT ${count}
    ) r
    WHERE used.org_id = ${orgId} AND used.day = ${day}::date
      ${ofKey(keyId, sql`used.key_id`)} ${ofModel(modelId, sql`used.model_id`)}
    ${NEWEST_FIRST} LIMIT ${count}`;
}

function within({ fromMs, toMs, after }: RequestFilter): Sql {
  const times = sql`AND r.admitted_at >= ${new Date(fromMs)} AND r.admitted_at < ${new Date(toMs)}`;
  if (!after) return times;
  const at = new Date(after.reservedAtMs);
  // The first condition is for the index, which does not have the ids.
  return sql`${times} AND r.admitted_at <= ${at}
    AND (r.admitted_at, r.reservation_id) < (${at}, ${after.reservationId})`;
}

function ending(outcome: OutcomeFilter | null): Sql {
  if (outcome === null) return NOTHING;
  if (outcome === 'answered') return sql`AND r.answered`;
  if (outcome === 'errors') return sql`AND NOT r.answered`;
  return sql`AND NOT r.answered AND r.error_code = ${outcome}`;
}
