/** The most counts in one report of refusals, from a gateway to a limiter. */
export const REFUSAL_REPORT_MAX = 1_000;
