import { type AccountEvent, recordAccountEvent } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import type { Logger } from '@tidegate/runtime';
import { CLIENT_ADDRESS_HEADER } from '../http/names.ts';
import type { Passkeys } from './passkeys.ts';
import type { SecondFactor } from './second-factor.ts';
import type { SignIn } from './sign-in.ts';

export type RecordAccount = (event: AccountEvent) => Promise<void>;

/** A failure to record is logged. It keeps no one from signing in. */
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

/** Much longer than an answer takes to be sent. */
const LATER_MS = 1_000;

export interface AuditedSignIn extends SignIn {
  /** Resolves once every attempt that was answered is recorded. */
  close(): Promise<void>;
}

/**
 * Records every sign-in with a password, and every failed one. Attempts that are refused unchecked,
 * because there were too many, are not recorded, so a trail grows no faster than the limits allow.
 *
 * Only an account has a trail. A failed attempt is recorded a second after its answer, so that the
 * time of the answer does not reveal whether there is an account. The speed of password hashing
 * bounds how many wait.
 */
export function auditedSignIn(
  signIn: SignIn,
  record: RecordAccount,
  { now, laterMs = LATER_MS }: { readonly now: () => number; readonly laterMs?: number },
): AuditedSignIn {
  const waiting = new Set<() => Promise<void>>();
  const recordLater = (event: AccountEvent): void => {
    let done: Promise<void> | undefined;
    const finish = (): Promise<void> => {
      clearTimeout(timer);
      done ??= record(event).finally(() => waiting.delete(finish));
      return done;
    };
    const timer = setTimeout(finish, laterMs);
    waiting.add(finish);
  };
  return {
    ...signIn,
    async withPassword(attempt) {
      const { email, address } = attempt;
      const result = await signIn.withPassword(attempt);
      const event = { account: { email }, address, details: { with: 'password' } };
      if (result.outcome === 'signed in') await record({ action: 'account.signIn', ...event });
      if (result.outcome === 'wrong') recordLater({ action: 'account.signInFailed', ...event, atMs: now() });
      return result;
    },
    close: async () => {
      await Promise.all([...waiting].map((finish) => finish()));
    },
  };
}

/**
 * Records every second step that signs in, and every one that fails after a right password. A
 * sign-in may try five codes, and records only once that the account is locked. So a trail grows no
 * faster than the limits allow.
 */
export const auditedSecondFactor = (factor: SecondFactor, record: RecordAccount): SecondFactor => ({
  ...factor,
  async complete(attempt) {
    const step = await factor.complete(attempt);
    if (!('userId' in step)) return step;
    const address = attempt.headers.get(CLIENT_ADDRESS_HEADER) ?? undefined;
    const event = { account: { userId: step.userId }, address };
    const details = { with: `password and ${step.by}` };
    if (step.outcome === 'wrong') await record({ action: 'account.signInFailed', ...event, details });
    if (step.outcome === 'locked' && step.isFirst)
      await record({ action: 'account.signInFailed', ...event, details: { ...details, locked: true } });
    if (step.outcome !== 'signed in') return step;
    if (step.by === 'recovery code') await record({ action: 'account.useBackupCode', ...event });
    await record({ action: 'account.signIn', ...event, details });
    return step;
  },
});

/**
 * Records every sign-in with a passkey, and every one that fails with a passkey of an account here.
 * An unknown passkey belongs to no one, so it has no trail.
 */
export const auditedPasskeys = (passkeys: Passkeys, record: RecordAccount): Passkeys => ({
  ...passkeys,
  async signIn(attempt) {
    const step = await passkeys.signIn(attempt);
    if (step.userId === null) return step;
    const address = attempt.headers.get(CLIENT_ADDRESS_HEADER) ?? undefined;
    const event = { account: { userId: step.userId }, address, details: { with: 'passkey' } };
    const action = step.outcome === 'wrong' ? 'account.signInFailed' : 'account.signIn';
    await record({ action, ...event });
    return step;
  },
});
