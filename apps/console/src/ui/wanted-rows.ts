/** How many rows of a long list a page renders, and sends, at first. */
export const FIRST_ROWS = 50;

/** The query of a page that has all rows of its list. */
export const ALL_ROWS = '?rows=all';

export interface RowsQuery {
  readonly rows?: string | string[] | undefined;
}

/** The rows that are sent with a page: the first, or all if they are asked for. */
export const wantedRows = <R>(all: readonly R[], { rows }: RowsQuery): readonly R[] =>
  rows === 'all' ? all : all.slice(0, FIRST_ROWS);
