import type { Db } from '@tidegate/db';
import { dayOf } from '@tidegate/limits';
import { modelNameOf } from '../models/view.ts';
import { toNumber } from '../numbers.ts';
import type { Grain } from '../requests/read-errors.ts';
import { NOTHING, query, sql } from '../sql.ts';

/** How many keys and how many models are named: those with the most refusals. */
const NAMED_MAX = 10;

export interface RefusalsOfCause {
  /** Of the error catalogue. */
  readonly code: string;
  /** The limit that refused. Null: none did. */
  readonly cause: string | null;
  readonly refusals: number;
  /** The hours (UTC) of the first and the last one. ISO 8601. */
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

interface StepOfCause {
  /** The first instant of the hour or the day. Unix ms. */
  readonly atMs: number;
  readonly code: string;
  readonly cause: string | null;
  readonly refusals: number;
  /** The first instants of the first and the last hour that have any. Unix ms. */
  readonly firstMs: number;
  readonly lastMs: number;
}

export interface CountedRefusals {
  readonly total: number;
  readonly steps: readonly StepOfCause[];
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
  /** What to count by, and so where to read: days are stored separately from their hours. */
  readonly step: Grain;
  /** The beginning of a step. Unix ms, included. */
  readonly fromMs: number;
  /** The beginning of a step. Unix ms, not included. */
  readonly toMs: number;
}

/** A count by step and cause, by key or by model. */
interface Row {
  readonly at: Date | null;
  readonly first: Date;
  readonly last: Date;
  readonly code: string | null;
  readonly cause: string | null;
  readonly keyId: string | null;
  readonly modelId: string | null;
  readonly refusals: bigint;
}

const STORED = {
  hour: { table: sql`refusal_hour`, column: sql`hour`, at: sql`hour`, first: sql`hour`, last: sql`hour` },
  day: {
    table: sql`refusal_day`,
    column: sql`day`,
    at: sql`day::timestamp AT TIME ZONE 'UTC'`,
    first: sql`first_hour`,
    last: sql`last_hour`,
  },
} as const;

/** Counts refusals by cause and step, by key and by model. Reads each row once. */
export async function readRefusals(db: Db, within: Within): Promise<CountedRefusals> {
  const { orgId, keyId, step, fromMs, toMs } = within;
  const { table, column, at, first, last } = STORED[step];
  const start = (ms: number) => (step === 'day' ? sql`${dayOf(ms)}::date` : sql`${new Date(ms)}`);
  const rows = await query<Row>(
    db,
    sql`
    SELECT ${at} AS at, min(${first}) AS first, max(${last}) AS last, code, cause,
      key_id AS "keyId", model_id AS "modelId", sum(refusals)::bigint AS refusals
    FROM ${table}
    WHERE org_id = ${orgId} AND ${column} >= ${start(fromMs)} AND ${column} < ${start(toMs)}
      ${keyId === null ? NOTHING : sql`AND key_id = ${keyId}`}
    GROUP BY GROUPING SETS ((${column}, code, cause), (key_id), (model_id))
    ORDER BY refusals DESC, key_id, model_id`,
  );
  const steps = rows.flatMap(({ at, first, last, code, cause, refusals }): StepOfCause[] =>
    at === null || code === null
      ? []
      : [
          {
            atMs: at.getTime(),
            code,
            cause: cause || null,
            refusals: toNumber(refusals),
            firstMs: first.getTime(),
            lastMs: last.getTime(),
          },
        ],
  );
  const causes = causesOf(steps);
  const total = causes.reduce((sum, { refusals }) => sum + refusals, 0);
  const [keys, models] = await Promise.all([keysOf(db, orgId, rows), modelsOf(db, orgId, rows)]);
  return { total, steps, causes, keys, models };
}

/** Most frequent first. */
function causesOf(steps: readonly StepOfCause[]): RefusalsOfCause[] {
  const byName = new Map<string, StepOfCause>();
  for (const one of steps) {
    const name = `${one.code} ${one.cause}`;
    const known = byName.get(name) ?? { ...one, refusals: 0 };
    byName.set(name, {
      ...one,
      refusals: known.refusals + one.refusals,
      firstMs: Math.min(known.firstMs, one.firstMs),
      lastMs: Math.max(known.lastMs, one.lastMs),
    });
  }
  return [...byName.values()]
    .sort((a, b) => b.refusals - a.refusals || a.code.localeCompare(b.code))
    .map(({ code, cause, refusals, firstMs, lastMs }) => ({
      code,
      cause,
      refusals,
      firstHour: new Date(firstMs).toISOString(),
      lastHour: new Date(lastMs).toISOString(),
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
  // The refusals of a key that was deleted just now are gone with it.
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
  return most.map(({ id, refusals }) => ({ ...modelNameOf(id, byId.get(id)), refusals }));
}
