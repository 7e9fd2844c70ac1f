import { DAY_MS } from '@tidegate/limits';
import { givenTexts, type Query, readTexts, writeQuery } from '../ui/query.ts';

/** Which requests to show, as the query says. An empty field: all. */
export interface RequestChoice {
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

/** Reads the query that `requestQueryOf` writes. */
export const requestFilterOf = (query: Query): RequestChoice => readTexts(FIELDS, query);

/** Where the page begins. Empty: with the newest request. */
export const beforeOf = (query: Query): string => readTexts(['before'], query).before;

/** The fields that are set: the input of `listRequests`. */
export const requestInputOf = ({ key, model, outcome, from, to }: RequestChoice) =>
  givenTexts({ keyId: key, modelId: model, outcome, from, to });

/** `?key=…&before=…`, or an empty string. */
export const requestQueryOf = (
  filter: Partial<RequestChoice>,
  more: Readonly<Record<string, string>> = {},
): string => writeQuery({ ...filter, ...more });

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * A time of the filter as a browser's field takes it, to the minute. A day stands for its midnight.
 * With `ends`, the day is included, so it stands for the next midnight. Empty: there is no such
 * day.
 */
export function fieldTimeOf(time: string, { ends = false } = {}): string {
  if (!DAY.test(time)) return time.slice(0, 16);
  const startMs = Date.parse(time);
  if (Number.isNaN(startMs)) return '';
  return new Date(startMs + (ends ? DAY_MS : 0)).toISOString().slice(0, 16);
}
