import { type AccountEvent, recordAccountEvent } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import type { Logger } from '@tidegate/runtime';
import type { SignIn } from './sign-in.ts';

export type RecordAccount = (event: AccountEvent) => Promise<void>;

/** A failure to record is logged. It keeps nobody from signing in. */
export function createRecorder(deps: {
  readonly db: Db;
  readonly now: () => number;
  readonly logger: Logger;
}): RecordAccount {
  return async (event) => {
    try {
      await recordAccountEvent(deps, event);
    } catch (err) {
      deps.logger.error({ err, action: event.action }, 'an event of an account could not be recorded');
    }
  };
}

/**
 * Records every sign-in with a password, and every failed one. Attempts that are refused unchecked,
 * because there were too many, are not recorded: so a trail grows no faster than the limits allow.
 */
export const auditedSignIn = (signIn: SignIn, record: RecordAccount): SignIn => ({
  ...signIn,
  async withPassword(attempt) {
    const { email, address } = attempt;
    const result = await signIn.withPassword(attempt);
    const details = { with: 'password' };
    if (result.outcome === 'signed in')
      await record({ action: 'account.signIn', account: { email }, address, details });
    if (result.outcome === 'wrong')
      await record({ action: 'account.signInFailed', account: { email }, address, details });
    return result;
  },
});
