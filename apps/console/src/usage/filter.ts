/** Which usage to show, by ids. Empty: of every key, of every model. */
export interface UsageChoice {
  readonly keyId: string;
  readonly modelId: string;
}

type Query = Readonly<Record<string, string | string[] | undefined>>;

/** Reads the query that `queryOf` writes. */
export const choiceOf = ({ key, model }: Query): UsageChoice => ({
  keyId: typeof key === 'string' ? key : '',
  modelId: typeof model === 'string' ? model : '',
});

/** `?key=…&model=…`, or an empty string. */
export function queryOf({ keyId, modelId }: UsageChoice): string {
  const query = new URLSearchParams({
    ...(keyId ? { key: keyId } : {}),
    ...(modelId ? { model: modelId } : {}),
  });
  return query.size === 0 ? '' : `?${query}`;
}

export const isWanted =
  ({ keyId, modelId }: UsageChoice) =>
  (row: UsageChoice): boolean =>
    (keyId === '' || row.keyId === keyId) && (modelId === '' || row.modelId === modelId);
