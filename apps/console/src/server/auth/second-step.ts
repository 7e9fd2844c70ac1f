import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Db } from '@tidegate/db';
import { symmetricDecrypt } from 'better-auth/crypto';
import { type Allowance, giveBack, renew, take } from './attempts.ts';
import type { Auth } from './auth.ts';
import { credentialOf } from './credential.ts';
import { throwingFailures } from './database-failures.ts';
import type { Devices } from './devices.ts';
import { digest } from './digest.ts';

export type SecondStep =
  | {
      readonly outcome: 'signed in';
      readonly headers: Headers;
      readonly userId: string;
      readonly by: 'app' | 'recovery code';
    }
  | ({ readonly outcome: 'wrong' } & FailedStep)
  /**
   * Too many wrong codes for this account. It takes none for a while. `isFirst`: this sign-in has
   * not met the lock before.
   */
  | ({ readonly outcome: 'locked'; readonly isFirst: boolean } & FailedStep)
  /** The sign-in is too old, or had too many wrong codes. It must begin again. */
  | { readonly outcome: 'over' }
  /** This looks like the code of an app, and the account has none. */
  | { readonly outcome: 'no app' }
  /** The secret that encrypted this second factor is gone. No code can be compared with it. */
  | { readonly outcome: 'unreadable' };
interface FailedStep {
  /** Whose password began the sign-in. */
  readonly userId: string;
  readonly by: 'app' | 'recovery code';
}

export interface WithCode {
  readonly code: string;
  readonly headers: Headers;
}

export interface VerifiedStep {
  readonly token: string;
  readonly user: { readonly id: string; readonly email: string };
}

const APP_CODE = /^\d{6}$/;

/**
 * How many codes may be tried for an account: in each browser in which it has signed in with a
 * second factor before, and in all others together. So someone who knows only the password cannot
 * lock the owner out of such a browser, and gets no more guesses for having signed in before there
 * was a second factor.
 */
const CODES: Allowance = { attempts: 10, windowMs: 15 * 60_000 };

export interface SecondFactorOptions {
  readonly db: Db;
  readonly auth: Auth;
  readonly devices: Devices;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** See `SecondFactor.complete`. */
export async function completeStep(
  options: SecondFactorOptions,
  { code, headers }: WithCode,
): Promise<SecondStep> {
  const { db, auth, devices, now } = options;
  const given = compactCode(code);
  const by = APP_CODE.test(given) ? 'app' : 'recovery code';
  const step = await auth.api.getBegunSignIn({ headers });
  const begun = step && (await db.user.findUnique({ where: { id: step.userId }, select: { email: true } }));
  if (!step || !begun) return { outcome: 'over' };
  const { userId } = step;
  const unusable = await whyUnusable(options, userId, by);
  if (unusable) return { outcome: unusable };
  const key = codesKey(options, headers, { id: userId, email: begun.email });
  if ((await take(db, now(), key, CODES)) > 0) {
    const first = await isFirst(options, 'locked', step.id, STEP_REMEMBERED_MS);
    return { outcome: 'locked', isFirst: first, userId, by };
  }
  const before = await credentialOf(db, begun.email);
  const verify = by === 'app' ? auth.api.verifyTOTP : auth.api.verifyBackupCode;
  const response = await throwingFailures(() => verify({ body: { code: given }, headers, asResponse: true }));
  if (response.ok) {
    const { token, user } = (await response.json()) as VerifiedStep;
    if (!isDeepStrictEqual(before, await credentialOf(db, begun.email))) {
      await db.session.deleteMany({ where: { token } });
      return { outcome: 'over' };
    }
    if (await isFirst(options, 'code', `${user.id} ${given}`, CODE_REMEMBERED_MS)) {
      await renew(db, codesKey(options, headers, user));
      return {
        outcome: 'signed in',
        headers: devices.remember(response, headers, user, 'second factor'),
        userId: user.id,
        by,
      };
    }
    await db.session.deleteMany({ where: { token } });
    return { outcome: 'wrong', userId: user.id, by };
  }
  if (await isWrong(response)) return { outcome: 'wrong', userId, by };
  // The code was not compared with anything.
  await giveBack(db, key);
  return { outcome: 'over' };
}

/** Why no code of this kind can be compared with anything. Null: one can. */
async function whyUnusable(
  { db, auth }: SecondFactorOptions,
  userId: string,
  by: FailedStep['by'],
): Promise<'no app' | 'unreadable' | null> {
  const row = await db.twoFactor.findFirst({
    where: { userId },
    select: { secret: true, backupCodes: true, verified: true },
  });
  if (!row) return null;
  // What setting up a passkey leaves: recovery codes, and an app that was never confirmed.
  if (by === 'app' && !row.verified) return 'no app';
  const { secretConfig: key } = await auth.$context;
  const data = by === 'app' ? row.secret : row.backupCodes;
  return symmetricDecrypt({ key, data }).then(
    () => null,
    () => 'unreadable',
  );
}

function codesKey(
  { devices }: SecondFactorOptions,
  headers: Headers,
  { id, email }: VerifiedStep['user'],
): string {
  const device = devices.known(headers, email, 'second factor');
  return `codes:${digest(email)}${device?.userId === id ? ` device:${device.id}` : ''}`;
}

/**
 * Remembers a value among the attempts to sign in, which are deleted when their time is over.
 * False: it was remembered already.
 */
async function isFirst(
  { db, now }: SecondFactorOptions,
  kind: 'code' | 'locked',
  value: string,
  forMs: number,
): Promise<boolean> {
  const key = `${kind}:${createHash('sha256').update(value).digest('hex')}`;
  const data = [{ key, count: 1, resetsAt: new Date(now() + forMs) }];
  return (await db.signInAttempt.createMany({ data, skipDuplicates: true })).count === 1;
}

/** An app's code is valid for a minute and a half. A longer time does no harm. */
const CODE_REMEMBERED_MS = 5 * 60_000;
/** A sign-in that has begun waits ten minutes for its second step. */
const STEP_REMEMBERED_MS = 11 * 60_000;

/** Codes are shown in groups, and people type them that way. */
export const compactCode = (code: string): string => code.replace(/\s/g, '');

const WRONG = new Set(['INVALID_PASSWORD', 'INVALID_CODE', 'INVALID_BACKUP_CODE']);

/** Whether better-auth refused the password or the code. Throws if better-auth failed. */
export async function isWrong(response: Response): Promise<boolean> {
  if (response.status >= 500) throw new Error(`the second factor failed with ${response.status}`);
  const { code = '' } = (await response.json().catch(() => ({}))) as { readonly code?: string };
  return WRONG.has(code);
}
