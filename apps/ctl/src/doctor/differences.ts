import { type Finding, fine, some, wrong } from './report.ts';

/** Where two counts of the same requests differ. */
export interface Difference {
  readonly org: string;
  readonly period: string;
  readonly what: string;
  /** It is soon repaired without anybody's help. */
  readonly settles?: boolean;
}

/**
 * @param what the counts that should agree
 * @param todo what to do if they do not
 * @param settling what the differences that settle are
 */
export function findingOf(
  check: string,
  what: string,
  differences: readonly Difference[],
  todo: string,
  settling = '',
): Finding {
  const faults = differences.filter(({ settles }) => !settles);
  if (faults.length > 0)
    return wrong(check, some(faults.map(({ org, period, what }) => `${org}, ${period}: ${what}`)), todo);
  if (differences.length === 0) return fine(check, `${what} agree`);
  const where = some(differences.map(({ org, period }) => `${org}, ${period}`));
  return fine(check, `${what} agree, except for ${settling}: ${where}`);
}
