/** Which events to show, as the query has it. Empty: all. */
export interface AuditFilter {
  readonly actor: string;
  /** A noun, or a noun and a verb. */
  readonly action: string;
  /** Days (UTC) as YYYY-MM-DD, both included. */
  readonly from: string;
  readonly to: string;
}

const FIELDS = ['actor', 'action', 'from', 'to'] as const;

export type Query = Readonly<Record<string, string | string[] | undefined>>;

/** Reads the query that `queryOf` writes. */
export function filterOf(query: Query): AuditFilter {
  const text = (name: string) => {
    const value = query[name];
    return typeof value === 'string' ? value.trim() : '';
  };
  return { actor: text('actor'), action: text('action'), from: text('from'), to: text('to') };
}

/** The fields that are set: the input of `listAudit`. */
export const given = (filter: AuditFilter): Partial<AuditFilter> =>
  Object.fromEntries(FIELDS.flatMap((name) => (filter[name] === '' ? [] : [[name, filter[name]]])));

/** `?actor=…&before=…`, or an empty string. */
export function queryOf(filter: AuditFilter, more: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams({ ...given(filter), ...more });
  return query.size === 0 ? '' : `?${query}`;
}
