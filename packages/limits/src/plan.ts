import { LIMITS } from './limits.ts';

export interface PlanLimit {
  /** On the Plan screen and in messages. */
  readonly label: string;
  /** The title of its column in `ctl plan list`. */
  readonly column: string;
  /** The flag of `ctl plan set`. */
  readonly flag: string;
  readonly help: string;
  readonly min: number;
  readonly max: number;
}

const MAX_A_MONTH = 1_000_000_000_000_000;

/** The limits of a plan that are numbers, in the order in which they are shown. */
export const PLAN_LIMITS = {
  keys: {
    label: 'API keys',
    column: 'Keys',
    flag: 'keys',
    help: 'maximum number of keys that are not revoked',
    min: 1,
    max: LIMITS.keysPerOrg.notRevoked,
  },
  requestsPerMonth: {
    label: 'Requests a month',
    column: 'Requests/month',
    flag: 'requests-month',
    help: 'requests a month',
    min: 0,
    max: MAX_A_MONTH,
  },
  requestsPerMinute: {
    label: 'Requests a minute',
    column: 'Requests/min',
    flag: 'requests-minute',
    help: 'requests in any 60 seconds',
    min: 1,
    max: 1_000_000,
  },
  requestsAtOnce: {
    label: 'Requests at once',
    column: 'At once',
    flag: 'requests-at-once',
    help: 'requests in progress at once',
    min: 1,
    max: 100_000,
  },
  tokensPerMonth: {
    label: 'Tokens a month',
    column: 'Tokens/month',
    flag: 'tokens-month',
    help: 'tokens a month',
    min: 0,
    max: MAX_A_MONTH,
  },
} as const satisfies Record<string, PlanLimit>;

export type PlanLimitName = keyof typeof PLAN_LIMITS;
export type PlanLimitValues = { readonly [L in PlanLimitName]: number };

/** Makes an object with a value for each limit. */
export const eachPlanLimit = <T>(value: (name: PlanLimitName, limit: PlanLimit) => T) =>
  Object.fromEntries(
    Object.entries(PLAN_LIMITS).map(([name, limit]) => [name, value(name as PlanLimitName, limit)]),
  ) as Record<PlanLimitName, T>;
