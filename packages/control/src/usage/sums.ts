import { toNumber } from '../numbers.ts';
import { type Sql, sql } from '../sql.ts';

export interface UsageCounts {
  readonly requests: number;
  /** Requests that did not end with a complete answer. */
  readonly errors: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /**
   * Full reservations that were charged without usage. Sums, columns and ctl's tables call them
   * unreported. This name is the one in the JSON of `ctl usage show`, which programs read.
   */
  readonly reservedTokens: number;
  /** The mean duration of the requests whose duration is known. Null: there are none. */
  readonly averageMs: number | null;
}

export type Sum = 'requests' | 'errors' | 'prompt' | 'completion' | 'unreported' | 'ms' | 'timed';
export type Sums = Readonly<Record<Sum, number>>;
/** As Postgres adds them up. */
export type Summed = Readonly<Record<Sum, bigint>>;

/** Sums, and the columns whose sums they are. */
const COLUMNS: Readonly<Record<Sum, string>> = {
  requests: 'requests',
  errors: 'errors',
  prompt: 'prompt_tokens',
  completion: 'completion_tokens',
  unreported: 'unreported_tokens',
  ms: 'duration_ms_sum',
  timed: 'duration_count',
};

const listOf = (item: (sum: string, column: string) => string): Sql =>
  sql([
    Object.entries(COLUMNS)
      .map(([sum, column]) => item(sum, column))
      .join(', '),
  ]);

/** Adds up stored rows. */
export const ADDED = listOf((sum, column) => `bigint_total(${column}) AS ${sum}`);
/** Adds up sums. */
export const ADDED_AGAIN = listOf((sum) => `bigint_total(${sum}) AS ${sum}`);
export const SUMS = listOf((sum) => sum);

export const sumsOf = (row: Summed): Sums => ({
  requests: toNumber(row.requests),
  errors: toNumber(row.errors),
  prompt: toNumber(row.prompt),
  completion: toNumber(row.completion),
  unreported: toNumber(row.unreported),
  ms: toNumber(row.ms),
  timed: toNumber(row.timed),
});

export const NO_USAGE: Sums = {
  requests: 0,
  errors: 0,
  prompt: 0,
  completion: 0,
  unreported: 0,
  ms: 0,
  timed: 0,
};

export const plus = (a: Sums, b: Sums): Sums => ({
  requests: a.requests + b.requests,
  errors: a.errors + b.errors,
  prompt: a.prompt + b.prompt,
  completion: a.completion + b.completion,
  unreported: a.unreported + b.unreported,
  ms: a.ms + b.ms,
  timed: a.timed + b.timed,
});

export const countsOf = (sums: Sums): UsageCounts => ({
  requests: sums.requests,
  errors: sums.errors,
  promptTokens: sums.prompt,
  completionTokens: sums.completion,
  reservedTokens: sums.unreported,
  averageMs: sums.timed === 0 ? null : Math.round(sums.ms / sums.timed),
});
