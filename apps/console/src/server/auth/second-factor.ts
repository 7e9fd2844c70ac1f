import {
  compactCode,
  completeStep,
  isWrong,
  type SecondFactorOptions,
  type SecondStep,
  type VerifiedStep,
  type WithCode,
} from './second-step.ts';
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

/** `headers` contain the session's cookie. */
interface WithPassword {
  readonly password: string;
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

export const createSecondFactor = (options: SecondFactorOptions): SecondFactor => ({
  hasApp: (userId) => hasApp(options, userId),
  begin: (proof) => begin(options, proof),
  confirm: (proof) => confirm(options, proof),
  renewCodes: (proof) => renewCodes(options, proof),
  remove: (proof) => remove(options, proof),
  complete: (attempt) => completeStep(options, attempt),
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
  const { auth, devices } = options;
  const session: Pick<OpenSession, 'user'> | null = await auth.api.getSession({ headers });
  if (!session || (await hasApp(options, session.user.id))) return { outcome: 'failed' };
  const response = await auth.api.verifyTOTP({
    body: { code: compactCode(code) },
    headers: withoutStep(headers),
    asResponse: true,
  });
  if (!response.ok) return failure(response);
  const { user } = (await response.json()) as VerifiedStep;
  if (!session.user.twoFactorEnabled) {
    const own = new Headers({ cookie: cookiesOf(response) });
    await auth.api.revokeOtherSessions({ headers: own });
  }
  return { outcome: 'changed', headers: devices.remember(response, headers, user, 'second factor') };
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

const failure = async (response: Response): Promise<Failure> => ({
  outcome: (await isWrong(response)) ? 'wrong' : 'failed',
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
