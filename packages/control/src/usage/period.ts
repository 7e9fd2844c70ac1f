import { DAY_MS, dayOf, HOUR_MS } from '@tidegate/limits';
import { isDay } from '../fields.ts';
import { type Sql, sql } from '../sql.ts';

/** UTC days or hours in a row, and where their usage is stored. */
export interface Period {
  /** Days as YYYY-MM-DD, hours as ISO 8601, oldest first. */
  readonly steps: readonly string[];
  readonly table: Sql;
  readonly column: Sql;
  /** The column, written as in `steps`. */
  readonly step: Sql;
  /** A condition: the row belongs to the period. */
  readonly within: Sql;
  /** A condition: the row of `usage_time` belongs to the period. */
  readonly times: Sql;
}

/** The last days, including that of this instant. */
export const lastDays = (count: number, nowMs: number): Period =>
  daysOf(Array.from({ length: count }, (_, i) => dayOf(nowMs - (count - 1 - i) * DAY_MS)));

/** @param steps ascending and without gaps */
const daysOf = (steps: readonly string[]): Period => ({
  steps,
  table: sql`usage_day`,
  column: sql`day`,
  step: sql`to_char(day, 'YYYY-MM-DD')`,
  within: sql`day BETWEEN ${steps[0]}::date AND ${steps.at(-1)}::date`,
  times: sql`step = 'day' AND at BETWEEN ${midnightOf(steps[0])}::timestamptz AND ${midnightOf(steps.at(-1))}::timestamptz`,
});

const midnightOf = (day = ''): string => `${day}T00:00:00Z`;

/** The last hours, including that of this instant. */
export function lastHours(count: number, nowMs: number): Period {
  const lastMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  return hoursOf(
    Array.from({ length: count }, (_, i) => new Date(lastMs - (count - 1 - i) * HOUR_MS).toISOString()),
  );
}

/** @param steps ascending and without gaps */
const hoursOf = (steps: readonly string[]): Period => ({
  steps,
  table: sql`usage_hour`,
  column: sql`hour`,
  step: sql`to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  within: sql`hour BETWEEN ${steps[0]}::timestamptz AND ${steps.at(-1)}::timestamptz`,
  times: sql`step = 'hour' AND at BETWEEN ${steps[0]}::timestamptz AND ${steps.at(-1)}::timestamptz`,
});

/** One day or one hour, as in the steps of a period. */
export const onlyStep = (step: string): Period => (isDay(step) ? daysOf([step]) : hoursOf([step]));

/** Whether the text is a day, or the first instant of an hour, as in the steps of a period. */
export const isStep = (step: string): boolean => isDay(step) || isHour(step);

function isHour(step: string): boolean {
  const ms = Date.parse(step);
  return ms % HOUR_MS === 0 && new Date(ms).toISOString() === step;
}
