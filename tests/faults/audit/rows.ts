import type { World } from '../world/world.ts';

/** A request as metering wrote it. */
export interface Row {
  readonly id: string;
  readonly org: string;
  readonly key: string;
  readonly model: string;
  readonly atMs: number;
  readonly answered: boolean;
  readonly errorCode: string | null;
  readonly prompt: number | null;
  readonly completion: number | null;
  readonly reserved: number;
  readonly charged: number;
}

/** Requests and tokens of one organization, key and model. */
export interface Total {
  readonly org: string;
  readonly key: string;
  readonly model: string;
  readonly requests: number;
  readonly errors: number;
  readonly prompt: number;
  readonly completion: number;
  readonly unreported: number;
}

export const readRows = ({ db }: World): Promise<Row[]> => db.$queryRaw<Row[]>`
  SELECT reservation_id AS id, org_id AS org, key_id AS key, model_id AS model,
    (extract(epoch FROM admitted_at) * 1000)::float8 AS "atMs", answered, error_code AS "errorCode",
    prompt_tokens AS prompt, completion_tokens AS completion, reserved_tokens AS reserved, charged_tokens AS charged
  FROM request`;

export const readDays = ({ db }: World): Promise<Total[]> => db.$queryRaw<Total[]>`
  SELECT org_id AS org, key_id AS key, model_id AS model, sum(requests)::int AS requests, sum(errors)::int AS errors,
    sum(prompt_tokens)::int AS prompt, sum(completion_tokens)::int AS completion, sum(unreported_tokens)::int AS unreported
  FROM usage_day GROUP BY 1, 2, 3`;

export const readMonths = ({
  db,
}: World): Promise<{ org: string; requests: number; charged: number }[]> => db.$queryRaw`
  SELECT org_id AS org, sum(requests)::int AS requests, sum(charged_tokens)::int AS charged FROM month_total GROUP BY 1`;

/** The rows added up as the day rollup does. */
export function totalsOf(rows: readonly Row[]): Map<string, Total> {
  const totals = new Map<string, Total>();
  for (const row of rows) {
    const name = `${row.org} ${row.key} ${row.model}`;
    const { org, key, model } = row;
    const before = totals.get(name) ?? {
      org,
      key,
      model,
      requests: 0,
      errors: 0,
      prompt: 0,
      completion: 0,
      unreported: 0,
    };
    totals.set(name, {
      ...before,
      requests: before.requests + 1,
      errors: before.errors + (row.answered ? 0 : 1),
      prompt: before.prompt + (row.prompt ?? 0),
      completion: before.completion + (row.completion ?? 0),
      unreported: before.unreported + (row.prompt === null ? row.charged : 0),
    });
  }
  return totals;
}
