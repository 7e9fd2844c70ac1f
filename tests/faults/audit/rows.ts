import type { World } from '../world/world.ts';

/** A request as metering wrote it. */
export interface Row {
  readonly id: string;
  /** The day of its partition, YYYY-MM-DD. */
  readonly day: string;
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

/** Requests and tokens of one day, organization, key and model. */
export interface DayTotal {
  readonly day: string;
  readonly org: string;
  readonly key: string;
  readonly model: string;
  readonly requests: number;
  readonly errors: number;
  readonly prompt: number;
  readonly completion: number;
  readonly unreported: number;
}

/** Requests and charged tokens of one organization and month (YYYY-MM). */
export interface MonthTotal {
  readonly org: string;
  readonly month: string;
  readonly requests: number;
  readonly charged: number;
}

export const readRows = ({ db }: World): Promise<Row[]> => db.$queryRaw<Row[]>`
  SELECT reservation_id AS id, to_char(day, 'YYYY-MM-DD') AS day, org_id AS org, key_id AS key, model_id AS model,
    (extract(epoch FROM admitted_at) * 1000)::float8 AS "atMs", answered, error_code AS "errorCode",
    prompt_tokens AS prompt, completion_tokens AS completion, reserved_tokens AS reserved, charged_tokens AS charged
  FROM request`;

export const readDays = ({ db }: World): Promise<DayTotal[]> => db.$queryRaw<DayTotal[]>`
  SELECT to_char(day, 'YYYY-MM-DD') AS day, org_id AS org, key_id AS key, model_id AS model, requests::float8 AS requests,
    errors::float8 AS errors, prompt_tokens::float8 AS prompt, completion_tokens::float8 AS completion,
    unreported_tokens::float8 AS unreported
  FROM usage_day`;

export const readMonths = ({ db }: World): Promise<MonthTotal[]> => db.$queryRaw<MonthTotal[]>`
  SELECT org_id AS org, month::text AS month, requests::float8 AS requests, charged_tokens::float8 AS charged
  FROM month_total`;

/** Adds up the rows as metering does for days, by the day of their reservation (UTC). */
export function totalsOf(rows: readonly Row[]): Map<string, DayTotal> {
  const totals = new Map<string, DayTotal>();
  for (const row of rows) {
    const { org, key, model } = row;
    const day = new Date(row.atMs).toISOString().slice(0, 10);
    const name = dayName({ day, org, key, model });
    const before = totals.get(name);
    totals.set(name, {
      day,
      org,
      key,
      model,
      requests: (before?.requests ?? 0) + 1,
      errors: (before?.errors ?? 0) + (row.answered ? 0 : 1),
      prompt: (before?.prompt ?? 0) + (row.prompt ?? 0),
      completion: (before?.completion ?? 0) + (row.completion ?? 0),
      unreported: (before?.unreported ?? 0) + (row.prompt === null ? row.charged : 0),
    });
  }
  return totals;
}

export const dayName = (of: Pick<DayTotal, 'day' | 'org' | 'key' | 'model'>): string =>
  `${of.day} ${of.org} ${of.key} ${of.model}`;
