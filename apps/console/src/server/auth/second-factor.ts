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
import type { OpenSession } from './sessions.ts';

/** An authenticator app that is not in use yet: `confirm` proves that it works. */
export interface NewAuthenticator {
  /** An `otpauth` address, for the app to scan. It contains the secret. */
  readonly uri: string;
  /** Each replaces the app once. Shown only now. */
  readonly recoveryCodes: readonly string[];
}

export type SetUp = ({ readonly outcome: 'begun' } & NewAuthenticator) | Failure;
export type Renewed = { readonly outcome: 'renewed'; readonly recoveryCodes: readonly string[] } | Failure;
/** `headers` contain the cookie of the session that continues. */
export type Changed = { readonly outcome: 'changed'; readonly headers: Headers } | Failure;
export type Removed = { readonly outcome: 'removed' } | Failure;
interface Failure {
  /** `wrong`: the password or the code. */
  readonly outcome: 'wrong' | 'failed';
}

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
  /** The secret that encrypted this second factor is gone. No code can be compared with it. */
  | { readonly outcome: 'unreadable' };
interface FailedStep {
  /** Whose password began the sign-in. */
  readonly userId: string;
  readonly by: 'app' | 'recovery code';
}

/** `headers` contain the session's cookie. */
interface WithPassword {
  readonly password: string;
  readonly headers: Headers;
}
interface WithCode {
  readonly code: string;
  readonly headers: Headers;
}

/** The second factor of accounts that have a password. */
export interface SecondFactor {
  /** Whether the account has an authenticator app in use. A passkey is a second factor, too. */
  hasApp(userId: string): Promise<boolean>;
  /** Begins to set up an app, and replaces the recovery codes, even if passkeys are in use. */
  begin(proof: WithPassword): Promise<SetUp>;
  /**
   * Puts the new app into use. The first second factor of an account ends all other sessions: they
   * began without it. Refused if an app is in use already: this call does not limit how many codes
   * are tried.
   */
  confirm(proof: WithCode): Promise<Changed>;
  /** Generates new recovery codes. The old ones stop working. */
  renewCodes(proof: WithPassword): Promise<Renewed>;
  /** Removes the app and all passkeys. */
  remove(proof: WithPassword): Promise<Removed>;
  /**
   * Completes a sign-in that has begun with a password, with a code of the app or a recovery code,
   * each of which works once. Five wrong codes end the sign-in. Ten in 15 minutes lock the
   * account's second step for the rest of that time, except in a browser that has completed one
   * before: it has ten of its own.
   */
  complete(attempt: WithCode): Promise<SecondStep>;
}

interface VerifiedStep {
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

interface SecondFactorOptions {
  readonly db: Db;
  readonly auth: Auth;
  readonly devices: Devices;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export const createSecondFactor = (options: SecondFactorOptions): SecondFactor => ({
  hasApp: (userId) => hasApp(options, userId),
  begin: (proof) => begin(options, proof),
  confirm: (proof) => confirm(options, proof),
  renewCodes: (proof) => renewCodes(options, proof),
  remove: (proof) => remove(options, proof),
  complete: (attempt) => complete(options, attempt),
});

const hasApp = async ({ db }: SecondFactorOptions, userId: string): Promise<boolean> =>
  (await db.twoFactor.count({ where: { userId, verified: true } })) > 0;

async function begin({ auth }: SecondFactorOptions, { password, headers }: WithPassword): Promise<SetUp> {
  const response = await auth.api.enableTwoFactor({
    body: { password, method: 'totp' },
    headers,
    asResponse: true,
  });
  if (!response.ok) return failure(response);
  const { totpURI, backupCodes } = (await response.json()) as { totpURI: string; backupCodes: string[] };
  return { outcome: 'begun', uri: totpURI, recoveryCodes: backupCodes };
}

async function confirm(options: SecondFactorOptions, { code, headers }: WithCode): Promise<Changed> {
  const { auth } = options;
  const session: Pick<OpenSession, 'user'> | null = await auth.api.getSession({ headers });
  if (!session || (await hasApp(options, session.user.id))) return { outcome: 'failed' };
  const response = await auth.api.verifyTOTP({
    body: { code: compact(code) },
    headers: withoutStep(headers),
    asResponse: true,
  });
  if (!response.ok) return failure(response);
  const { user } = (await response.json()) as VerifiedStep;
  if (!session.user.twoFactorEnabled) {
    const own = new Headers({ cookie: cookiesOf(response) });
    await auth.api.revokeOtherSessions({ headers: own });
  }
  return { outcome: 'changed', headers: known(options, response, headers, user) };
}

async function renewCodes(
  { auth }: SecondFactorOptions,
  { password, headers }: WithPassword,
): Promise<Renewed> {
  const response = await auth.api.generateBackupCodes({ body: { password }, headers, asResponse: true });
  if (!response.ok) return failure(response);
  const { backupCodes } = (await response.json()) as { backupCodes: string[] };
  return { outcome: 'renewed', recoveryCodes: backupCodes };
}

async function remove(
  { db, auth }: SecondFactorOptions,
  { password, headers }: WithPassword,
): Promise<Removed> {
  const session = await auth.api.getSession({ headers });
  const response = await auth.api.verifyPassword({ body: { password }, headers, asResponse: true });
  if (!response.ok) return failure(response);
  if (!session) return { outcome: 'failed' };
  const userId = session.user.id;
  // better-auth would do this in several steps, of which only some may succeed.
  await db.$transaction([
    db.user.update({ where: { id: userId }, data: { twoFactorEnabled: false } }),
    db.twoFactor.deleteMany({ where: { userId } }),
    db.passkey.deleteMany({ where: { userId } }),
  ]);
  return { outcome: 'removed' };
}

async function complete(options: SecondFactorOptions, { code, headers }: WithCode): Promise<SecondStep> {
  const { db, auth, now } = options;
  const given = compact(code);
  const by = APP_CODE.test(given) ? 'app' : 'recovery code';
  const step = await auth.api.getBegunSignIn({ headers });
  const begun = step && (await db.user.findUnique({ where: { id: step.userId }, select: { email: true } }));
  if (!step || !begun) return { outcome: 'over' };
  const { userId } = step;
  if (!(await isReadable(options, userId, by))) return { outcome: 'unreadable' };
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
        headers: known(options, response, headers, user),
        userId: user.id,
        by,
      };
    }
    await db.session.deleteMany({ where: { token } });
    return { outcome: 'wrong', userId: user.id, by };
  }
  if (WRONG.has(await problemOf(response))) return { outcome: 'wrong', userId, by };
  // The code was not compared with anything.
  await giveBack(db, key);
  return { outcome: 'over' };
}

async function isReadable(
  { db, auth }: SecondFactorOptions,
  userId: string,
  by: FailedStep['by'],
): Promise<boolean> {
  const row = await db.twoFactor.findFirst({
    where: { userId },
    select: { secret: true, backupCodes: true },
  });
  if (!row) return true;
  const { secretConfig: key } = await auth.$context;
  const data = by === 'app' ? row.secret : row.backupCodes;
  return symmetricDecrypt({ key, data }).then(
    () => true,
    () => false,
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

/** The answer's headers, with a cookie by which the browser is known from now on. */
function known(
  { devices }: SecondFactorOptions,
  response: Response,
  headers: Headers,
  { id: userId, email }: VerifiedStep['user'],
): Headers {
  const all = new Headers(response.headers);
  all.append('set-cookie', devices.remember(headers, { userId, email }, 'second factor'));
  return all;
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
const compact = (code: string): string => code.replace(/\s/g, '');

const WRONG = new Set(['INVALID_PASSWORD', 'INVALID_CODE', 'INVALID_BACKUP_CODE']);

async function problemOf(response: Response): Promise<string> {
  if (response.status >= 500) throw new Error(`the second factor failed with ${response.status}`);
  const { code = '' } = (await response.json().catch(() => ({}))) as { readonly code?: string };
  return code;
}

const failure = async (response: Response): Promise<Failure> => ({
  outcome: WRONG.has(await problemOf(response)) ? 'wrong' : 'failed',
});

/**
 * Drops the cookie of a sign-in that waits for its second step. If the session ended at this
 * moment, better-auth would check the code for that sign-in, and nothing would count the attempt.
 */
function withoutStep(headers: Headers): Headers {
  const cookies = (headers.get('cookie') ?? '').split(';');
  const kept = cookies.filter((cookie) => !/^\s*(__Secure-)?tidegate\.two_factor\s*=/.test(cookie));
  const all = new Headers(headers);
  all.set('cookie', kept.join(';'));
  return all;
}

const cookiesOf = ({ headers }: Response): string =>
  headers
    .getSetCookie()
    .map((cookie) => cookie.split(';', 1)[0])
    .join('; ');
