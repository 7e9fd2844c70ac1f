import type { Query } from './query.ts';

/** How many rows of a long list a page renders, and sends, at first. */
export const FIRST_ROWS = 50;

const ALL = 'all';

/** The query of the same page with this many rows of its list. Default: all. */
export function rowsQuery(query: string, count: number | typeof ALL = ALL): string {
  const wanted = new URLSearchParams(query);
  wanted.set('rows', String(count));
  return `?${wanted}`;
}

export interface RowsQuery {
  readonly rows?: string | string[] | undefined;
}

/** How many rows are sent with a page: the first, or as many as are asked for, up to `max`. */
export function wantedCount({ rows }: RowsQuery, max: number): number {
  const count = Number(rows);
  return Number.isInteger(count) ? Math.min(Math.max(count, FIRST_ROWS), max) : FIRST_ROWS;
}

/**
 * The rows that are sent with a page: the first, or all if they are asked for, or if the query has
 * any of `filters`.
 */
export const wantedRows = <R>(all: readonly R[], query: Query, filters: readonly string[]): readonly R[] =>
  query.rows === ALL || filters.some((name) => query[name] !== undefined) ? all : all.slice(0, FIRST_ROWS);
