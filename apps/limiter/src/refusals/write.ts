import type { Db } from '@tidegate/db';
import type { RefusalCount__Output } from '@tidegate/rpc';

export interface RefusalReport {
  /** Names the gateway process. */
  readonly gatewayId: string;
  /** 1 for its first report, and so on. */
  readonly sequence: number;
  readonly counts: readonly RefusalCount__Output[];
}

/**
 * Adds a gateway's report to the refusals of its hours. The same statement also notes the report,
 * so that a report that is sent again counts once, however the first attempt ended. A trigger adds
 * each row to its day, once all hours are written. Rows are touched in an order that is also the
 * order of their days, so concurrent writers cannot deadlock.
 *
 * Leaves out API keys that are deleted or belong to another organization. If a key is deleted while
 * this runs, the statement fails: the gateway sends the report again.
 *
 * If a gateway's clock is ahead, its refusals are still not dated in the future: they would be kept
 * too long.
 */
export async function writeRefusals(db: Db, { gatewayId, sequence, counts }: RefusalReport): Promise<void> {
  const rows = JSON.stringify(counts.map(rowOf));
  await db.$executeRaw`
    WITH report AS (
      INSERT INTO refusal_report AS last (gateway_id, sequence, at)
      VALUES (${gatewayId}, ${sequence}::integer, CURRENT_TIMESTAMP)
      ON CONFLICT (gateway_id) DO UPDATE SET sequence = excluded.sequence, at = excluded.at
      WHERE last.sequence < excluded.sequence
      RETURNING 1
    ), counted AS (
      SELECT incoming.org_id, date_trunc('hour', least(to_timestamp(hour_ms / 1000), CURRENT_TIMESTAMP), 'UTC') AS hour,
        key_id, model_id, code, cause, refusals
      FROM json_to_recordset(${rows}::json) AS incoming(
        org_id text, key_id text, model_id text, code text, cause text, hour_ms float8, refusals bigint)
      JOIN api_key ON api_key.id = incoming.key_id AND api_key.org_id = incoming.org_id
      WHERE EXISTS (SELECT FROM report)
    )
    INSERT INTO refusal_hour AS total (org_id, hour, key_id, model_id, code, cause, refusals)
    SELECT org_id, hour, key_id, model_id, code, cause, sum(refusals)
    FROM counted
    GROUP BY org_id, hour, key_id, model_id, code, cause
    ORDER BY org_id, key_id, model_id, code, cause, hour
    ON CONFLICT (org_id, hour, key_id, model_id, code, cause)
    DO UPDATE SET refusals = total.refusals + excluded.refusals`;
}

/** Named after the statement's columns. */
const rowOf = (count: RefusalCount__Output) => ({
  org_id: count.orgId,
  key_id: count.keyId,
  model_id: count.modelId,
  code: count.code,
  cause: count.cause,
  hour_ms: count.hourMs,
  refusals: count.refusals,
});
