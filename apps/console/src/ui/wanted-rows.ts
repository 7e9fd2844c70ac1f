/** How many rows of a long list a page renders, and sends, at first. */
export const FIRST_ROWS = 50;

const ALL = 'all';

/** The query of the same page with all rows of its list. */
export function allRowsQuery(query: string): string {
  const wanted = new URLSearchParams(query);
  wanted.set('rows', ALL);
  return `?${wanted}`;
}

export interface RowsQuery {
  readonly rows?: string | string[] | undefined;
}

export const wantsAll = ({ rows }: RowsQuery): boolean => rows === ALL;

/** The rows that are sent with a page: the first, or all if they are asked for. */
export const wantedRows = <R>(all: readonly R[], query: RowsQuery): readonly R[] =>
  wantsAll(query) ? all : all.slice(0, FIRST_ROWS);
