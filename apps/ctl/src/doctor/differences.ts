import { type Finding, fine, some, wrong } from './report.ts';

/** Where two counts of the same requests differ. */
export interface Difference {
  readonly org: string;
  readonly period: string;
  readonly what: string;
}

/** @param what the counts that should agree. @param todo if they do not */
export const findingOf = (
  check: string,
  what: string,
  differences: readonly Difference[],
  todo: string,
): Finding =>
  differences.length === 0
    ? fine(check, `${what} agree`)
    : wrong(check, some(differences.map(({ org, period, what }) => `${org}, ${period}: ${what}`)), todo);
