import type { Settlement } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import { dayOf } from '@tidegate/limits';

type Cell = string | number | boolean | null;

/** The statement's input for each settlement: name, type, value. */
const INCOMING: readonly (readonly [name: string, type: string, of: (settlement: Settlement) => Cell])[] = [
  ['reservation_id', 'text', (settlement) => settlement.reservationId],
  ['day', 'date', (settlement) => dayOf(settlement.reservedAtMs)],
  ['org_id', 'text', (settlement) => settlement.orgId],
  ['key_id', 'text', (settlement) => settlement.keyId],
  ['model_id', 'text', (settlement) => settlement.modelId],
  ['reserved_at_ms', 'float8', (settlement) => settlement.reservedAtMs],
  ['answered', 'boolean', (settlement) => settlement.answered],
  ['error_code', 'text', (settlement) => settlement.errorCode],
  ['streamed', 'boolean', (settlement) => settlement.streamed],
  ['prompt_tokens', 'integer', (settlement) => settlement.promptTokens],
  ['completion_tokens', 'integer', (settlement) => settlement.completionTokens],
  ['reserved_tokens', 'integer', (settlement) => settlement.reservedTokens],
  ['charged_tokens', 'integer', (settlement) => settlement.chargedTokens],
  ['duration_ms', 'integer', (settlement) => settlement.durationMs],
  ['first_chunk_ms', 'integer', (settlement) => settlement.firstChunkMs],
];

const SUMS = [
  ...['requests', 'errors', 'prompt_tokens', 'completion_tokens', 'unreported_tokens'],
  ...['duration_ms_sum', 'duration_count'],
];
/** Each is one number that adds up as the sums do (docs/adr/0015). Null: no time is known. */
const HISTOGRAMS = ['durations', 'first_chunks'];
const COLUMNS = SUMS.join(', ');

/** Adds the new sums to an existing row of usage. */
const ADDED = SUMS.map((name) => `${name} = total.${name} + excluded.${name}`).join(',\n        ');
const MERGED = HISTOGRAMS.map(
  (name) => `${name} = coalesce(total.${name} + excluded.${name}, total.${name}, excluded.${name})`,
).join(',\n        ');
const summed = (names: readonly string[]): string => names.map((name) => `sum(${name})`).join(', ');

/** Its parameters are those of `parametersOf`. Each CTE must take time linear in the rows. */
export const WRITE = `
    WITH fresh AS (
      INSERT INTO request (
        reservation_id, day, org_id, key_id, model_id, admitted_at, answered, error_code, streamed,
        prompt_tokens, completion_tokens, reserved_tokens, charged_tokens, duration_ms, first_chunk_ms)
      SELECT reservation_id, day, org_id, key_id, model_id, to_timestamp(reserved_at_ms / 1000.0), answered,
        error_code, streamed, prompt_tokens, completion_tokens, reserved_tokens, charged_tokens, duration_ms, first_chunk_ms
      FROM unnest(${INCOMING.map(([, type], i) => `$${i + 1}::${type}[]`).join(', ')})
        AS incoming(${INCOMING.map(([name]) => name).join(', ')})
      WHERE NOT EXISTS (SELECT FROM deleted_org WHERE deleted_org.org_id = incoming.org_id)
      ORDER BY day, reservation_id
      ON CONFLICT DO NOTHING
      RETURNING day, org_id, key_id, model_id, admitted_at, answered, prompt_tokens, completion_tokens, charged_tokens,
        duration_ms, first_chunk_ms
    ), by_hour AS (
      SELECT org_id, day, date_trunc('hour', admitted_at, 'UTC') AS hour, key_id, model_id,
        count(*) AS requests, count(*) FILTER (WHERE NOT answered) AS errors,
        coalesce(sum(prompt_tokens), 0) AS prompt_tokens, coalesce(sum(completion_tokens), 0) AS completion_tokens,
        coalesce(sum(charged_tokens) FILTER (WHERE prompt_tokens IS NULL), 0) AS unreported_tokens,
        sum(charged_tokens) AS charged_tokens,
        coalesce(sum(duration_ms), 0) AS duration_ms_sum, count(duration_ms) AS duration_count,
        sum(histogram_of(duration_ms)) AS durations, sum(histogram_of(first_chunk_ms)) AS first_chunks
      FROM fresh
      GROUP BY org_id, day, hour, key_id, model_id
    ), hours AS (
      INSERT INTO usage_hour AS total (org_id, hour, key_id, model_id, ${COLUMNS})
      SELECT org_id, hour, key_id, model_id, ${COLUMNS}
      FROM by_hour
      ORDER BY org_id, hour, key_id, model_id
      ON CONFLICT (org_id, hour, key_id, model_id) DO UPDATE SET
        ${ADDED}
      RETURNING 1
    ), days AS (
      INSERT INTO usage_day AS total (org_id, day, key_id, model_id, ${COLUMNS})
      SELECT org_id, day, key_id, model_id, ${summed(SUMS)}
      FROM by_hour
      GROUP BY org_id, day, key_id, model_id
      ORDER BY org_id, day, key_id, model_id
      ON CONFLICT (org_id, day, key_id, model_id) DO UPDATE SET
        ${ADDED}
      RETURNING 1
    ), times AS (
      INSERT INTO usage_time AS total (org_id, step, at, model_id, ${HISTOGRAMS.join(', ')})
      SELECT org_id, 'hour' AS step, hour AS at, model_id, ${summed(HISTOGRAMS)}
      FROM by_hour GROUP BY org_id, hour, model_id
      UNION ALL
      SELECT org_id, 'day', day::timestamp AT TIME ZONE 'UTC', model_id, ${summed(HISTOGRAMS)}
      FROM by_hour GROUP BY org_id, day, model_id
      ORDER BY org_id, step, at, model_id
      ON CONFLICT (org_id, step, at, model_id) DO UPDATE SET
        ${MERGED}
      RETURNING 1
    ), months AS (
      INSERT INTO month_total AS total (org_id, month, requests, charged_tokens)
      SELECT org_id, to_char(day, 'YYYY-MM') AS month, sum(requests), sum(charged_tokens)
      FROM by_hour
      GROUP BY org_id, month
      ORDER BY org_id, month
      ON CONFLICT (org_id, month) DO UPDATE SET
        requests = total.requests + excluded.requests,
        charged_tokens = total.charged_tokens + excluded.charged_tokens
      RETURNING 1
    ), used AS (
      SELECT key_id, max(admitted_at) AS at FROM fresh GROUP BY key_id
    ), locked AS (
      SELECT api_key.id, used.at FROM used JOIN api_key ON api_key.id = used.key_id
      ORDER BY api_key.id
      FOR NO KEY UPDATE OF api_key
    ), keys AS (
      UPDATE api_key SET last_used_at = greatest(api_key.last_used_at, locked.at)
      FROM locked
      WHERE api_key.id = locked.id
      RETURNING 1
    )
    SELECT (SELECT count(*)::int FROM fresh) AS fresh, (SELECT count(*) FROM hours) AS hours,
      (SELECT count(*) FROM days) AS days, (SELECT count(*) FROM times) AS times,
      (SELECT count(*) FROM months) AS months, (SELECT count(*) FROM keys) AS keys`;

/**
 * Writes settlements, each exactly once however often it comes. One statement inserts the new rows
 * and adds only those to the usage by hour and by day, the month totals and the keys' last use.
 * Hour, day and month are those of the reservation, in UTC. The partitions of the days must exist.
 *
 * Rows are touched table by table, in the order of their keys. So concurrent writers wait for each
 * other but cannot deadlock.
 *
 * Settlements of a deleted organization are dropped, however late they come: its rows never come
 * back (see delete_organization in the migrations).
 *
 * @returns how many settlements were new
 */
export async function writeSettlements(db: Db, settlements: readonly Settlement[]): Promise<number> {
  if (settlements.length === 0) return 0;
  const [result] = await db.$queryRawUnsafe<{ fresh: number }[]>(WRITE, ...parametersOf(settlements));
  return result?.fresh ?? 0;
}

/**
 * An array for each column, as Postgres writes arrays. It reads them in half the time that it takes
 * for rows as JSON.
 */
export const parametersOf = (settlements: readonly Settlement[]): string[] =>
  INCOMING.map(([, , of]) => `{${settlements.map((settlement) => literalOf(of(settlement))).join()}}`);

const literalOf = (cell: Cell): Cell =>
  typeof cell === 'string' ? `"${cell.replace(/["\\]/g, '\\$&')}"` : (cell ?? 'NULL');
