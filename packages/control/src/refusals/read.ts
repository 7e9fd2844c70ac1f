import type { Db } from '@tidegate/db';
import { toNumber } from '../numbers.ts';
import type { Step } from '../requests/read-errors.ts';
import { NOTHING, query, type Sql, sql } from '../sql.ts';

/** How many keys and how many models are named: those with the most refusals. */
const NAMED_MAX = 10;

export interface RefusalsOfCause {
  /** Of the error catalogue. */
  readonly code: string;
  /** The limit that refused. Null: none did. */
  readonly cause: string | null;
  readonly refusals: number;
  /** The hours (UTC) in which the first and the last one were. ISO 8601. */
  readonly firstHour: string;
  readonly lastHour: string;
}

export interface RefusalsOfKey {
  readonly keyId: string;
  readonly key: string;
  readonly keyPrefix: string;
  readonly requestsPerMinute: number;
  readonly requestsAtOnce: number;
  readonly refusals: number;
}

export interface RefusalsOfModel {
  readonly modelId: string;
  readonly model: string;
  readonly modelDeleted: boolean;
  readonly refusals: number;
}

export interface CountedRefusals {
  readonly total: number;
  readonly steps: readonly {
    readonly at: string;
    readonly code: string;
    readonly cause: string | null;
    readonly refusals: number;
  }[];
  /** Most frequent first, as are keys and models. */
  readonly causes: readonly RefusalsOfCause[];
  /** At most 10, as are models. */
  readonly keys: readonly RefusalsOfKey[];
  /** Without the refusals that came before a model was found. */
  readonly models: readonly RefusalsOfModel[];
}

interface Within {
  readonly orgId: string;
  /** Null: all keys. */
  readonly keyId: string | null;
  /** Unix ms, included. */
  readonly fromMs: number;
  /** Unix ms, not included. */
  readonly toMs: number;
  readonly step: Step;
}

interface CauseRow {
  readonly at: Date | null;
  readonly code: string;
  readonly cause: string;
  readonly refusals: bigint;
  readonly firstHour: Date;
  readonly lastHour: Date;
}

/** Counts refusals by cause over time, by key and by model. */
export async function readRefusals(db: Db, within: Within): Promise<CountedRefusals> {
  const { step } = within;
  const [rows, keys, models] = await Promise.all([
    query<CauseRow>(
      db,
      sql`
      SELECT date_trunc(${step}, hour, 'UTC') AS at, code, cause, sum(refusals)::bigint AS refusals,
        min(hour) AS "firstHour", max(hour) AS "lastHour"
      FROM refusal_hour WHERE ${matching(within)}
      GROUP BY GROUPING SETS ((1, code, cause), (code, cause))
      ORDER BY refusals DESC, code, cause`,
    ),
    readKeys(db, within),
    readModels(db, within),
  ]);
  const counts = rows.map(({ code, cause, refusals, ...row }) => ({
    ...{ code, cause: cause === '' ? null : cause, refusals: toNumber(refusals) },
    at: row.at?.toISOString() ?? null,
    ...{ firstHour: row.firstHour.toISOString(), lastHour: row.lastHour.toISOString() },
  }));
  const causes = counts.flatMap(({ at, ...count }) => (at === null ? [count] : []));
  const steps = counts.flatMap(({ at, code, cause, refusals }) =>
    at === null ? [] : [{ at, code, cause, refusals }],
  );
  return { total: causes.reduce((sum, { refusals }) => sum + refusals, 0), steps, causes, keys, models };
}

const matching = ({ orgId, keyId, fromMs, toMs }: Within): Sql => sql`
  refusal_hour.org_id = ${orgId} AND hour >= ${new Date(fromMs)} AND hour < ${new Date(toMs)}
  ${keyId === null ? NOTHING : sql`AND key_id = ${keyId}`}`;

async function readKeys(db: Db, within: Within): Promise<RefusalsOfKey[]> {
  const rows = await query<Omit<RefusalsOfKey, 'refusals'> & { refusals: bigint }>(
    db,
    sql`
    SELECT key_id AS "keyId", api_key.name AS key, prefix AS "keyPrefix",
      requests_per_minute AS "requestsPerMinute", requests_at_once AS "requestsAtOnce", refused.refusals
    FROM (
      SELECT key_id, sum(refusals)::bigint AS refusals FROM refusal_hour WHERE ${matching(within)}
      GROUP BY key_id ORDER BY refusals DESC, key_id LIMIT ${NAMED_MAX}
    ) refused
    JOIN api_key ON api_key.id = refused.key_id
    ORDER BY refused.refusals DESC, key_id`,
  );
  return rows.map((row) => ({ ...row, refusals: toNumber(row.refusals) }));
}

async function readModels(db: Db, within: Within): Promise<RefusalsOfModel[]> {
  const rows = await query<{ modelId: string; model: string | null; deleted: boolean; refusals: bigint }>(
    db,
    sql`
    SELECT model_id AS "modelId", model.name AS model,
      (model.id IS NULL OR model.deleted_at IS NOT NULL) AS deleted, refused.refusals
    FROM (
      SELECT model_id, sum(refusals)::bigint AS refusals FROM refusal_hour
      WHERE ${matching(within)} AND model_id <> ''
      GROUP BY model_id ORDER BY refusals DESC, model_id LIMIT ${NAMED_MAX}
    ) refused
    LEFT JOIN model ON model.id = refused.model_id AND model.org_id = ${within.orgId}
    ORDER BY refused.refusals DESC, model_id`,
  );
  return rows.map(({ modelId, model, deleted, refusals }) => ({
    ...{ modelId, model: model ?? modelId, modelDeleted: deleted },
    refusals: toNumber(refusals),
  }));
}
