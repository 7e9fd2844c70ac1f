import type { PlanLimitName } from '@tidegate/limits';

/**
 * The limits of a plan by which scripts decide. `keys` is not among them: control counts keys when
 * it creates one.
 */
export type EnforcedLimit = Exclude<PlanLimitName, 'keys'>;

/** Each limit's column in Postgres, and its field in the hash of an organization in Redis. */
export const ENFORCED_LIMITS = {
  requestsPerMinute: { column: 'requests_per_minute', field: 'rpm' },
  requestsAtOnce: { column: 'requests_at_once', field: 'at_once' },
  requestsPerMonth: { column: 'requests_per_month', field: 'requests_month' },
  tokensPerMonth: { column: 'tokens_per_month', field: 'tokens_month' },
} as const satisfies Record<EnforcedLimit, { readonly column: string; readonly field: string }>;

export type EnforcedColumn = (typeof ENFORCED_LIMITS)[EnforcedLimit]['column'];

export type EnforcedValues = Readonly<Record<EnforcedLimit, number>>;

const NAMES = Object.keys(ENFORCED_LIMITS) as EnforcedLimit[];

/** @param row with the columns of a plan */
export const limitsFrom = (row: Readonly<Record<EnforcedColumn, number | bigint>>): EnforcedValues =>
  Object.fromEntries(
    NAMES.map((name) => [name, Number(row[ENFORCED_LIMITS[name].column])]),
  ) as EnforcedValues;

/** Fields and values for HSET, in turn. */
export const limitFields = (limits: EnforcedValues): (string | number)[] =>
  NAMES.flatMap((name) => [ENFORCED_LIMITS[name].field, limits[name]]);
