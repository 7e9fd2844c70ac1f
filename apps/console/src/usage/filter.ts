const DAY_MS = 86_400_000;

/** Which usage to show, by ids. Empty: of every key, of every model. */
export interface UsageChoice {
  readonly keyId: string;
  readonly modelId: string;
}

type Query = Readonly<Record<string, string | string[] | undefined>>;

/** The days that usage is shown for, today included. Unless one is chosen, it is 30 days. */
export const PERIODS = [
  { id: '7d', days: 7 },
  { id: '30d', days: 30 },
] as const;
export type Period = (typeof PERIODS)[number];
const DEFAULT_PERIOD = PERIODS[1];

export const periodOf = ({ period }: Query): Period =>
  PERIODS.find(({ id }) => id === period) ?? DEFAULT_PERIOD;

/** Reads the query that `queryOf` writes. */
export const choiceOf = ({ key, model }: Query): UsageChoice => ({
  keyId: typeof key === 'string' ? key : '',
  modelId: typeof model === 'string' ? model : '',
});

/** `?key=…&model=…&period=…`, or an empty string. */
export function queryOf({ keyId, modelId }: UsageChoice, period: Period = DEFAULT_PERIOD): string {
  const query = new URLSearchParams({
    ...namedIn({ keyId, modelId }),
    ...(period === DEFAULT_PERIOD ? {} : { period: period.id }),
  });
  return query.size === 0 ? '' : `?${query}`;
}

/** The query with which the Requests screen shows one UTC day, YYYY-MM-DD. */
export function dayQueryOf(choice: UsageChoice, day: string): string {
  const nextDay = new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
  return `?${new URLSearchParams({ ...namedIn(choice), from: `${day}T00:00`, to: `${nextDay}T00:00` })}`;
}

const namedIn = ({ keyId, modelId }: UsageChoice): Record<string, string> => ({
  ...(keyId ? { key: keyId } : {}),
  ...(modelId ? { model: modelId } : {}),
});

export const isWanted =
  ({ keyId, modelId }: UsageChoice) =>
  (row: UsageChoice): boolean =>
    (keyId === '' || row.keyId === keyId) && (modelId === '' || row.modelId === modelId);
