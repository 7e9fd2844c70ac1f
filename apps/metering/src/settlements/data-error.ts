import { sqlStateOf } from '@tidegate/db';

/**
 * SQLSTATE classes 22 (data exception) and 23 (constraint violation): this data can never be
 * written.
 */
const DATA_ERROR = /^2[23][0-9A-Z]{3}$/;
/**
 * Postgres' code for a row that breaks a check, and also for one without a partition. A day's
 * partition may be missing for a moment, and the row is not to blame.
 */
const CHECK_VIOLATION = '23514';
/** The message is in the server's language. It names the check that is broken. */
const NAME_OF_CHECK = /_check\b/;

/** True if Postgres refused the data itself, so that trying again cannot help. */
export function isDataError(error: unknown): boolean {
  const state = sqlStateOf(error) ?? '';
  return DATA_ERROR.test(state) && (state !== CHECK_VIOLATION || namesCheck(error));
}

const namesCheck = (error: unknown): boolean => error instanceof Error && NAME_OF_CHECK.test(error.message);
