import { DAY_MS, HOUR_MS } from '@tidegate/limits';
import { requestQueryOf } from '../requests/filter.ts';
import { type Query, writeQuery } from '../ui/query.ts';

const MINUTES = 'YYYY-MM-DDTHH:MM'.length;

/** Which usage to show, by ids. Empty: of all keys, or of all models. */
export interface UsageChoice {
  readonly keyId: string;
  readonly modelId: string;
}

/** The periods that usage is shown for, including the current day or hour. Default: 30 days. */
export const PERIODS = [
  { id: '24h', name: '24 hours', span: { hours: 24 } },
  { id: '7d', name: '7 days', span: { days: 7 } },
  { id: '30d', name: '30 days', span: { days: 30 } },
] as const;
export type UsagePeriod = (typeof PERIODS)[number];
export const DEFAULT_PERIOD = PERIODS[2];

export const periodOf = ({ period }: Query): UsagePeriod =>
  PERIODS.find(({ id }) => id === period) ?? DEFAULT_PERIOD;

/** Reads the query that `usageQueryOf` writes. */
export const choiceOf = ({ key, model }: Query): UsageChoice => ({
  keyId: typeof key === 'string' ? key : '',
  modelId: typeof model === 'string' ? model : '',
});

/** `?key=…&model=…&period=…`, or an empty string. */
export const usageQueryOf = ({ keyId: key, modelId: model }: UsageChoice, { id }: UsagePeriod): string =>
  writeQuery({ key, model, period: id === DEFAULT_PERIOD.id ? '' : id });

/**
 * The query with which the Requests screen shows one UTC day, YYYY-MM-DD, or the hour that begins
 * at an instant.
 */
export function stepQueryOf({ keyId: key, modelId: model }: UsageChoice, at: string): string {
  const startMs = Date.parse(at);
  const endMs = startMs + (at.includes('T') ? HOUR_MS : DAY_MS);
  const [from = '', to = ''] = [startMs, endMs].map((ms) => new Date(ms).toISOString().slice(0, MINUTES));
  return requestQueryOf({ key, model, from, to });
}

/**
 * What a file's name says about its period, from its steps, oldest first:
 * `2026-11-18-to-2026-11-24`, or `2026-11-23T10Z-to-2026-11-24T09Z` with the first and the last
 * hour.
 */
export function fileNameOf(steps: readonly string[]): string {
  const [first = '', last = ''] = [steps[0], steps.at(-1)].map((step) => step?.replace(/:.*/, 'Z'));
  return `${first}-to-${last}`;
}
