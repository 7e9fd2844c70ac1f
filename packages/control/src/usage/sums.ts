import { isPageKey, PAGE_KEYS } from '@tidegate/contracts';
import { toNumber } from '../numbers.ts';

export interface Counts {
  readonly requests: number;
  /** Requests that did not end with a complete answer. */
  readonly errors: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Full reservations that were charged without usage ("reserved or unreported"). */
  readonly reservedTokens: number;
  /** The mean duration of the requests whose duration is known. Null: there are none. */
  readonly averageMs: number | null;
}

export type Sum = 'requests' | 'errors' | 'prompt' | 'completion' | 'unreported' | 'ms' | 'timed';
export type Sums = Record<Sum, number>;
/** As Postgres adds up. */
export type Summed = Readonly<Record<Sum, bigint>>;

export const nothing = (): Sums => ({
  ...{ requests: 0, errors: 0, prompt: 0, completion: 0, unreported: 0, ms: 0, timed: 0 },
});

export interface PairNames {
  readonly keyId: string;
  readonly key: string | null;
  readonly keyPrefix: string | null;
  readonly modelId: string;
  readonly model: string | null;
  readonly modelDeleted: boolean;
}

/** The usage of one key with one model. */
export type Pair = PairNames & Sums;

export const sumsOf = (row: Summed): Sums => ({
  requests: toNumber(row.requests),
  errors: toNumber(row.errors),
  prompt: toNumber(row.prompt),
  completion: toNumber(row.completion),
  unreported: toNumber(row.unreported),
  ms: toNumber(row.ms),
  timed: toNumber(row.timed),
});

export const pairOf = (row: Summed & PairNames): Pair => ({ ...row, ...sumsOf(row) });

/** Adds to the first, and returns it. */
export function add(to: Sums, more: Readonly<Sums>): Sums {
  to.requests += more.requests;
  to.errors += more.errors;
  to.prompt += more.prompt;
  to.completion += more.completion;
  to.unreported += more.unreported;
  to.ms += more.ms;
  to.timed += more.timed;
  return to;
}

export const countsOf = (sums: Sums): Counts => ({
  requests: sums.requests,
  errors: sums.errors,
  promptTokens: sums.prompt,
  completionTokens: sums.completion,
  reservedTokens: sums.unreported,
  averageMs: sums.timed === 0 ? null : Math.round(sums.ms / sums.timed),
});

/** Pages of the console have a key each. Adds those up by model, so that they do not pile up. */
export function oneOfPages(pairs: readonly Pair[]): readonly Pair[] {
  const ofPages = pairs.filter(({ keyId }) => isPageKey(keyId));
  if (ofPages.length === 0) return pairs;
  const byModel = new Map<string, Pair>();
  for (const pair of ofPages) {
    const known = byModel.get(pair.modelId);
    if (known) add(known, pair);
    else byModel.set(pair.modelId, { ...pair, keyId: PAGE_KEYS, key: null, keyPrefix: null });
  }
  const others = pairs.filter(({ keyId }) => !isPageKey(keyId));
  return [...others, ...byModel.values()].sort((a, b) => b.requests - a.requests);
}
