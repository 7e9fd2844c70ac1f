import type { Db } from '@tidegate/db';
import { toNumber } from '../numbers.ts';
import { NOTHING, query, sql } from '../sql.ts';

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

interface HourOfCause {
  /** Its first instant. Unix ms. */
  readonly atMs: number;
  readonly code: string;
  readonly cause: string | null;
  readonly refusals: number;
}

export interface CountedRefusals {
  readonly total: number;
  readonly hours: readonly HourOfCause[];
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
}

/** A count by hour and cause, by key or by model. */
interface Row {
  readonly hour: Date | null;
  readonly code: string | null;
  readonly cause: string | null;
  readonly keyId: string | null;
  readonly modelId: string | null;
  readonly refusals: bigint;
}

/** Counts refusals by cause and hour, by key and by model. Reads each row once. */
export async function readRefusals(db: Db, { orgId, keyId, fromMs, toMs }: Within): Promise<CountedRefusals> {
  const rows = await query<Row>(
    db,
    sql`
    SELECT hour, code, cause, key_id AS "keyId", model_id AS "modelId", sum(refusals)::bigint AS refusals
    FROM refusal_hour
    WHERE org_id = ${orgId} AND hour >= ${new Date(fromMs)} AND hour < ${new Date(toMs)}
      ${keyId === null ? NOTHING : sql`AND key_id = ${keyId}`}
    GROUP BY GROUPING SETS ((hour, code, cause), (key_id), (model_id))
    ORDER BY refusals DESC, key_id, model_id`,
  );
  const hours = rows.flatMap(({ hour, code, cause, refusals }): HourOfCause[] =>
    hour === null || code === null
      ? []
      : [{ atMs: hour.getTime(), code, cause: cause || null, refusals: toNumber(refusals) }],
  );
  const causes = causesOf(hours);
  const total = causes.reduce((sum, { refusals }) => sum + refusals, 0);
  const [keys, models] = await Promise.all([keysOf(db, orgId, rows), modelsOf(db, orgId, rows)]);
  return { total, hours, causes, keys, models };
}

/** Most frequent first. */
function causesOf(hours: readonly HourOfCause[]): RefusalsOfCause[] {
  const byName = new Map<string, HourOfCause & { firstMs: number; lastMs: number }>();
  for (const one of hours) {
    const name = `${one.code} ${one.cause}`;
    const known = byName.get(name);
    byName.set(name, {
      ...one,
      refusals: (known?.refusals ?? 0) + one.refusals,
      firstMs: Math.min(known?.firstMs ?? one.atMs, one.atMs),
      lastMs: Math.max(known?.lastMs ?? one.atMs, one.atMs),
    });
  }
  return [...byName.values()]
    .sort((a, b) => b.refusals - a.refusals || a.code.localeCompare(b.code))
    .map(({ code, cause, refusals, firstMs, lastMs }) => ({
      ...{ code, cause, refusals },
      ...{ firstHour: new Date(firstMs).toISOString(), lastHour: new Date(lastMs).toISOString() },
    }));
}

/** The ids with the most refusals. */
function mostOf(rows: readonly Row[], idOf: (row: Row) => string | null) {
  const counts = rows.flatMap((row) => {
    const id = idOf(row);
    return id ? [{ id, refusals: toNumber(row.refusals) }] : [];
  });
  return counts.slice(0, NAMED_MAX);
}

async function keysOf(db: Db, orgId: string, rows: readonly Row[]): Promise<RefusalsOfKey[]> {
  const most = mostOf(rows, ({ keyId }) => keyId);
  const found = await db.apiKey.findMany({
    where: { orgId, id: { in: most.map(({ id }) => id) } },
    select: { id: true, name: true, prefix: true, requestsPerMinute: true, requestsAtOnce: true },
  });
  const byId = new Map(found.map((key) => [key.id, key]));
  // One that is deleted in this moment has taken its refusals along.
  return most.flatMap(({ id: keyId, refusals }) => {
    const key = byId.get(keyId);
    if (!key) return [];
    const { name, prefix, requestsPerMinute, requestsAtOnce } = key;
    return [{ keyId, key: name, keyPrefix: prefix, requestsPerMinute, requestsAtOnce, refusals }];
  });
}

async function modelsOf(db: Db, orgId: string, rows: readonly Row[]): Promise<RefusalsOfModel[]> {
  const most = mostOf(rows, ({ modelId }) => modelId);
  const found = await db.model.findMany({
    where: { orgId, id: { in: most.map(({ id }) => id) } },
    select: { id: true, name: true, deletedAt: true },
  });
  const byId = new Map(found.map((model) => [model.id, model]));
  return most.map(({ id: modelId, refusals }) => {
    const model = byId.get(modelId);
    const modelDeleted = !model || model.deletedAt !== null;
    return { modelId, model: model?.name ?? modelId, modelDeleted, refusals };
  });
}
