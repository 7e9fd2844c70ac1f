import type { KeyView } from '@tidegate/control';

/** What the table shows of a key. There may be a thousand keys. */
export interface KeyTableRow
  extends Pick<
    KeyView,
    | 'id'
    | 'name'
    | 'prefix'
    | 'state'
    | 'requestsPerMinute'
    | 'requestsAtOnce'
    | 'lastUsedAt'
    | 'expiresOn'
    | 'expiresAt'
  > {
  readonly mayCallText: string;
  /** Only the first names, if there are many. */
  readonly mayCallShort: string;
  readonly limitsText: string;
}

export type StateFilter = 'all' | KeyView['state'];
export type SortColumn = 'name' | 'state' | 'mayCall' | 'limits' | 'lastUsed' | 'expires';
export interface Sort {
  readonly column: SortColumn;
  readonly descending: boolean;
}

const STATES: readonly KeyView['state'][] = ['Active', 'Expired', 'Revoked'];
const COLUMNS: readonly SortColumn[] = ['name', 'state', 'mayCall', 'limits', 'lastUsed', 'expires'];

/** The list's texts in the page's address. */
export const KEYS_IN_ADDRESS = ['find', 'state', 'sort'] as const;

/** Reads the state and the order of an address. `-name` is by name, descending. */
export const stateFilterOf = (text: string): StateFilter => STATES.find((state) => state === text) ?? 'all';

export function sortOf(text: string): Sort | null {
  const descending = text.startsWith('-');
  const column = COLUMNS.find((one) => one === text.slice(descending ? 1 : 0));
  return column ? { column, descending } : null;
}

export const sortText = (sort: Sort | null): string =>
  sort === null ? '' : `${sort.descending ? '-' : ''}${sort.column}`;

/** The keys that match a text and a state, sorted. Equal ones stay newest first. */
export function arrange(
  keys: readonly KeyTableRow[],
  { text, state, sort }: { text: string; state: StateFilter; sort: Sort | null },
): KeyTableRow[] {
  const wanted = text.trim().toLowerCase();
  const kept = keys.filter(
    (key) =>
      (state === 'all' || key.state === state) &&
      (key.name.toLowerCase().includes(wanted) || key.prefix.toLowerCase().includes(wanted)),
  );
  if (!sort) return kept;
  const direction = sort.descending ? -1 : 1;
  return kept.sort((a, b) => direction * compare(a, b, sort.column));
}

function compare(a: KeyTableRow, b: KeyTableRow, column: SortColumn): number {
  switch (column) {
    case 'name':
      return a.name.localeCompare(b.name, 'en', { sensitivity: 'base', numeric: true });
    case 'state':
      return STATES.indexOf(a.state) - STATES.indexOf(b.state);
    case 'mayCall':
      return a.mayCallText.localeCompare(b.mayCallText, 'en');
    case 'limits':
      return a.requestsPerMinute - b.requestsPerMinute || a.requestsAtOnce - b.requestsAtOnce;
    case 'lastUsed':
      return compareText(a.lastUsedAt ?? '', b.lastUsedAt ?? '');
    case 'expires':
      // A key that never expires sorts after every date.
      return compareText(endOf(a), endOf(b));
  }
}

const endOf = ({ expiresAt, expiresOn }: KeyTableRow): string => expiresAt ?? expiresOn ?? '9999';

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
