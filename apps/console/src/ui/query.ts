/** The query of a page's address. */
export type Query = Readonly<Record<string, string | string[] | undefined>>;

/** Reads one text for each name. Empty: not given, or given more than once. */
export function readTexts<N extends string>(names: readonly N[], query: Query): Readonly<Record<N, string>> {
  const texts = names.map((name) => {
    const value = query[name];
    return [name, typeof value === 'string' ? value.trim() : ''] as const;
  });
  return Object.fromEntries(texts) as Record<N, string>;
}

/** The texts that are not empty. */
export const givenTexts = <T extends object>(texts: T): Partial<T> =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')) as Partial<T>;

/** `?key=…&before=…` with what is not empty, or an empty string. */
export function writeQuery(texts: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(givenTexts(texts) as Record<string, string>);
  return query.size === 0 ? '' : `?${query}`;
}

/** The query with these texts in it, and without those that are empty. */
export function withTexts(search: string, texts: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(search);
  for (const [name, text] of Object.entries(texts)) {
    if (text === '') query.delete(name);
    else query.set(name, text);
  }
  return query.size === 0 ? '' : `?${query}`;
}
