import type { Db } from '@tidegate/db';
import { oneOfPages } from '../keys/key-sql.ts';
import { keyNameOf } from '../keys/view.ts';
import { modelNameOf } from '../models/view.ts';
import { toNumber } from '../numbers.ts';
import { query, sql } from '../sql.ts';

export type Grain = 'hour' | 'day';

/** How many keys and how many models are named: those with the most errors. */
const NAMED_MAX = 10;
/** The code of rows that have none. */
const NO_CODE = 'unknown';

export interface ErrorsOfCode {
  readonly code: string;
  readonly errors: number;
  /** When the first and the last one were counted. ISO 8601. */
  readonly firstAt: string;
  readonly lastAt: string;
}

export interface ErrorsOfKey {
  readonly keyId: string;
  /** The key's name, or `A deleted key`. All page keys are one: `Try it`. */
  readonly key: string;
  /** Null: the key is deleted, or stands for all page keys. */
  readonly keyPrefix: string | null;
  readonly errors: number;
}

export interface ErrorsOfModel {
  readonly modelId: string;
  readonly model: string;
  readonly modelDeleted: boolean;
  readonly errors: number;
}

export interface CountedErrors {
  readonly total: number;
  /** When the oldest of these errors was counted. ISO 8601. Null: there are none. */
  readonly oldestAt: string | null;
  readonly steps: readonly { readonly at: string; readonly code: string; readonly errors: number }[];
  /** Most frequent first, as are keys and models. */
  readonly codes: readonly ErrorsOfCode[];
  /** At most 10, as are models. */
  readonly keys: readonly ErrorsOfKey[];
  readonly models: readonly ErrorsOfModel[];
}

interface Within {
  readonly orgId: string;
  /** Unix ms, included. */
  readonly fromMs: number;
  /** Unix ms, not included. */
  readonly toMs: number;
  readonly step: Grain;
}

/** A count of all, or by step and code, by code, by key or by model. */
interface Row {
  readonly at: Date | null;
  readonly code: string | null;
  readonly keyId: string | null;
  readonly modelId: string | null;
  readonly oldestAt: Date | null;
  readonly newestAt: Date | null;
  readonly errors: bigint;
}

/**
 * Counts the newest errors, at most `count`. The index of errors has everything that it reads. A
 * condition on `day` would make Postgres read the rows, too, so each partition is searched.
 */
export async function readErrors(
  db: Db,
  { orgId, fromMs, toMs, step }: Within,
  count: number,
): Promise<CountedErrors> {
  const rows = await query<Row>(
    db,
    sql`
    SELECT at, code, key_id AS "keyId", model_id AS "modelId",
      min(admitted_at) AS "oldestAt", max(admitted_at) AS "newestAt", count(*) AS errors
    FROM (
      SELECT date_trunc(${step}, admitted_at, 'UTC') AS at, coalesce(error_code, ${NO_CODE}) AS code,
        ${oneOfPages(sql`key_id`)} AS key_id,
        model_id, admitted_at
      FROM request
      WHERE org_id = ${orgId} AND NOT answered
        AND admitted_at >= ${new Date(fromMs)} AND admitted_at < ${new Date(toMs)}
      ORDER BY admitted_at DESC LIMIT ${count}
    ) error
    GROUP BY GROUPING SETS ((), (at, code), (code), (key_id), (model_id))
    ORDER BY errors DESC, code, key_id, model_id`,
  );
  const steps = rows.flatMap(({ at, code, errors }) =>
    at && code !== null ? [{ at: at.toISOString(), code, errors: toNumber(errors) }] : [],
  );
  const codes = rows.flatMap(({ at, code, errors, oldestAt, newestAt }): ErrorsOfCode[] =>
    at === null && code !== null && oldestAt && newestAt
      ? [
          {
            code,
            errors: toNumber(errors),
            firstAt: oldestAt.toISOString(),
            lastAt: newestAt.toISOString(),
          },
        ]
      : [],
  );
  const all = rows.find((row) => row.at === null && row.code === null && !row.keyId && !row.modelId);
  return {
    total: toNumber(all?.errors ?? 0),
    oldestAt: all?.oldestAt?.toISOString() ?? null,
    steps,
    codes,
    ...(await named(db, orgId, rows)),
  };
}

/** The keys and models with the most errors, with their names. */
async function named(db: Db, orgId: string, rows: readonly Row[]) {
  const countsBy = (of: (row: Row) => string | null) =>
    rows
      .flatMap((row) => {
        const id = of(row);
        return id === null ? [] : [{ id, errors: toNumber(row.errors) }];
      })
      .slice(0, NAMED_MAX);
  const byKey = countsBy(({ keyId }) => keyId);
  const byModel = countsBy(({ modelId }) => modelId);
  const idsIn = (counts: readonly { id: string }[]) => ({ orgId, id: { in: counts.map(({ id }) => id) } });
  const [keys, models] = await Promise.all([
    db.apiKey.findMany({ where: idsIn(byKey), select: { id: true, name: true, prefix: true } }),
    db.model.findMany({ where: idsIn(byModel), select: { id: true, name: true, deletedAt: true } }),
  ]);
  const keyOf = new Map(keys.map((key) => [key.id, key]));
  const modelOf = new Map(models.map((model) => [model.id, model]));
  return {
    keys: byKey.map(({ id, errors }): ErrorsOfKey => {
      const key = keyOf.get(id);
      return { keyId: id, key: keyNameOf(id, key?.name), keyPrefix: key?.prefix ?? null, errors };
    }),
    models: byModel.map(({ id, errors }): ErrorsOfModel => ({ ...modelNameOf(id, modelOf.get(id)), errors })),
  };
}
