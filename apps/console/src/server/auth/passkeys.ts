import { getAuthenticatorName } from '@better-auth/passkey';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/browser';
import type { Db } from '@tidegate/db';
import type { Auth } from './auth.ts';
import { throwingFailures } from './database-failures.ts';
import type { Devices } from './devices.ts';

export interface PasskeyView {
  readonly id: string;
  /** Who keeps it, or where it was created. */
  readonly name: string;
  readonly createdAt: Date | null;
}

/** `headers` contain the cookie that ties the browser's answer to these options, for 5 minutes. */
export interface Challenge<Options> {
  readonly options: Options;
  readonly headers: Headers;
}

interface SignedPasskey {
  readonly answer: RegistrationResponseJSON;
  /** Where it is created, in words. */
  readonly place: string;
  readonly headers: Headers;
}

interface PasskeyAttempt {
  readonly answer: AuthenticationResponseJSON;
  readonly headers: Headers;
}

export type PasskeySignIn =
  | { readonly outcome: 'signed in'; readonly headers: Headers; readonly userId: string }
  /**
   * `userId` null: no account here has the passkey, or the attempt is over. Otherwise this user has
   * it, but it was not proven: the signature is wrong, or its device did not check who was using
   * it.
   */
  | { readonly outcome: 'wrong'; readonly userId: string | null };

/**
 * Passkeys of accounts that have a password. A passkey signs in alone: having the device is one
 * factor, and what the device checks is the other. Once an account has one, its password alone no
 * longer lets anyone in. `headers` contain the browser's cookies.
 */
export interface Passkeys {
  list(userId: string): Promise<readonly PasskeyView[]>;
  /** Begins to create a passkey for the signed-in user. The caller has checked the password. */
  offer(headers: Headers): Promise<Challenge<PublicKeyCredentialCreationOptionsJSON> | null>;
  /**
   * Stores the passkey that the browser has created. The first second factor of an account ends all
   * other sessions: they began without it. The account must have recovery codes already.
   */
  add(made: SignedPasskey): Promise<'added' | 'failed'>;
  /**
   * Removes one of a user's passkeys. `last`: the account would be left without a second factor,
   * which can only be turned off as a whole.
   */
  remove(userId: string, id: string): Promise<'removed' | 'last' | 'unknown'>;
  /** Begins to sign in whoever has a passkey. */
  challenge(headers: Headers): Promise<Challenge<PublicKeyCredentialRequestOptionsJSON>>;
  signIn(attempt: PasskeyAttempt): Promise<PasskeySignIn>;
}

interface PasskeysOptions {
  readonly db: Db;
  readonly auth: Auth;
  readonly devices: Devices;
}

export const createPasskeys = (options: PasskeysOptions): Passkeys => ({
  list: (userId) => list(options, userId),
  offer: (headers) => offer(options, headers),
  add: (made) => add(options, made),
  remove: (userId, id) => remove(options, userId, id),
  challenge: (headers) => challenge(options, headers),
  signIn: (attempt) => signIn(options, attempt),
});

async function list({ db }: PasskeysOptions, userId: string): Promise<PasskeyView[]> {
  const rows = await db.passkey.findMany({ where: { userId }, orderBy: [{ createdAt: 'asc' }] });
  return rows.map(({ id, name, aaguid, createdAt }) => ({
    id,
    name: getAuthenticatorName(aaguid) ?? name ?? 'Passkey',
    createdAt,
  }));
}

async function offer({ auth }: PasskeysOptions, headers: Headers): ReturnType<Passkeys['offer']> {
  const response = await auth.api.generatePasskeyRegistrationOptions({ headers, asResponse: true });
  if (!response.ok) return null;
  return { options: await response.json(), headers: response.headers };
}

async function add(
  { db, auth }: PasskeysOptions,
  { answer, place, headers }: SignedPasskey,
): Promise<'added' | 'failed'> {
  const session = await auth.api.getSession({ headers });
  if (!session) return 'failed';
  const userId = session.user.id;
  // Without recovery codes, losing the device would lock the user out.
  if ((await db.twoFactor.count({ where: { userId } })) === 0) return 'failed';
  const body = { response: answer, name: place };
  const response = await throwingFailures(() =>
    auth.api.verifyPasskeyRegistration({ body, headers, asResponse: true }),
  );
  if (!response.ok) return 'failed';
  return (await turnOn(db, userId, session.session.token)) ? 'added' : 'failed';
}

/**
 * Makes a passkey the second factor of an account that had none. That ends all sessions but one:
 * they began without it. False: the account's passkeys have been removed meanwhile.
 */
const turnOn = (db: Db, userId: string, kept: string): Promise<boolean> =>
  db.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT id FROM "user" WHERE id = ${userId} FOR UPDATE`;
    if ((await tx.passkey.count({ where: { userId } })) === 0) return false;
    const { count } = await tx.user.updateMany({
      where: { id: userId, twoFactorEnabled: false },
      data: { twoFactorEnabled: true },
    });
    if (count > 0) await tx.session.deleteMany({ where: { userId, token: { not: kept } } });
    return true;
  });

const remove = ({ db }: PasskeysOptions, userId: string, id: string): ReturnType<Passkeys['remove']> =>
  db.$transaction(async (tx) => {
    // Two removals at once must not both find another passkey left.
    await tx.$queryRaw`SELECT id FROM "user" WHERE id = ${userId} FOR UPDATE`;
    const rows = await tx.passkey.findMany({ where: { userId }, select: { id: true } });
    if (!rows.some((row) => row.id === id)) return 'unknown';
    const apps = await tx.twoFactor.count({ where: { userId, verified: true } });
    if (rows.length + apps === 1) return 'last';
    await tx.passkey.delete({ where: { id } });
    return 'removed';
  });

async function challenge({ auth }: PasskeysOptions, headers: Headers): ReturnType<Passkeys['challenge']> {
  const response = await auth.api.generatePasskeyAuthenticationOptions({ headers, asResponse: true });
  if (!response.ok) throw new Error(`a passkey's challenge failed with ${response.status}`);
  const options = (await response.json()) as PublicKeyCredentialRequestOptionsJSON;
  // By itself, the plugin lets the device choose whether to check its user.
  return { options: { ...options, userVerification: 'required' }, headers: response.headers };
}

interface SignedIn {
  readonly session: { readonly token: string };
  readonly user: { readonly id: string; readonly email: string };
}

async function signIn(
  { db, auth, devices }: PasskeysOptions,
  { answer, headers }: PasskeyAttempt,
): Promise<PasskeySignIn> {
  if (!isCredentialId(answer?.id)) return { outcome: 'wrong', userId: null };
  const response = await throwingFailures(() =>
    auth.api.verifyPasskeyAuthentication({ body: { response: { ...answer } }, headers, asResponse: true }),
  );
  if (response.status >= 500) throw new Error(`a passkey's sign-in failed with ${response.status}`);
  if (!response.ok) return { outcome: 'wrong', userId: await whoseUnproven(db, answer.id, response) };
  const { session, user } = (await response.json()) as SignedIn;
  // The console may have ended between storing the account's first passkey and this.
  if (!(await turnOn(db, user.id, session.token))) {
    await db.session.deleteMany({ where: { token: session.token } });
    return { outcome: 'wrong', userId: user.id };
  }
  const cookies = devices.remember(response, headers, user, 'second factor');
  return { outcome: 'signed in', headers: cookies, userId: user.id };
}

/** Browsers may send anything. The database would fail on some of it. */
const isCredentialId = (id: unknown): boolean => typeof id === 'string' && /^[\w-]{1,1400}$/.test(id);

/** The plugin's error codes for a passkey that it knows. */
const UNPROVEN = new Set(['AUTHENTICATION_FAILED', 'USER_NOT_VERIFIED']);

/** Whose passkey an attempt failed to prove. Null: it was checked against none. */
async function whoseUnproven(db: Db, credentialID: string, response: Response): Promise<string | null> {
  const { code = '' } = (await response.json()) as { readonly code?: string };
  if (!UNPROVEN.has(code)) return null;
  const passkey = await db.passkey.findFirst({ where: { credentialID }, select: { userId: true } });
  return passkey?.userId ?? null;
}
