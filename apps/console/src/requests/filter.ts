/** Which requests to show, as the query has it. Empty: all. */
export interface RequestFilter {
  /** Ids. */
  readonly key: string;
  readonly model: string;
  /** `answered`, `errors`, or an error code. */
  readonly outcome: string;
  /** UTC times as YYYY-MM-DDTHH:MM, or days. */
  readonly from: string;
  readonly to: string;
  /** A request's id, to show only this one. */
  readonly id: string;
}

const FIELDS = ['key', 'model', 'outcome', 'from', 'to', 'id'] as const;

export type Query = Readonly<Record<string, string | string[] | undefined>>;

/** Reads the query that `queryOf` writes. */
export function filterOf(query: Query): RequestFilter {
  const text = (name: string) => {
    const value = query[name];
    return typeof value === 'string' ? value.trim() : '';
  };
  return Object.fromEntries(FIELDS.map((name) => [name, text(name)])) as unknown as RequestFilter;
}

/** The fields that are set: the input of `listRequests`. */
export function inputOf({ key, model, outcome, from, to }: RequestFilter) {
  const fields = { keyId: key, modelId: model, outcome, from, to };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

/** `?key=…&before=…`, or an empty string. */
export function queryOf(filter: Partial<RequestFilter>, more: Readonly<Record<string, string>> = {}): string {
  const given = FIELDS.flatMap((name) => (filter[name] ? [[name, filter[name]]] : []));
  const query = new URLSearchParams({ ...Object.fromEntries(given), ...more });
  return query.size === 0 ? '' : `?${query}`;
}
