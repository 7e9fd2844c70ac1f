import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Db } from '@tidegate/db';
import { networkOf } from '@tidegate/runtime';
import { type Allowance, remainingWait, take } from './attempts.ts';
import type { Auth } from './auth.ts';
import { credentialOf } from './credential.ts';
import type { Devices } from './devices.ts';
import { digest } from './digest.ts';

const PER_ADDRESS: Allowance = { attempts: 20, windowMs: 60_000 };
/** IPv6 only, where one site has any number of addresses. A site may have many people. */
const PER_NETWORK: Allowance = { attempts: 100, windowMs: 60_000 };
/**
 * For an e-mail from one network. Using it up locks out the e-mail's owner in that network only.
 */
const PER_EMAIL_AND_NETWORK: Allowance = { attempts: 30, windowMs: 15 * 60_000 };
/**
 * For an e-mail from all networks, against guessing from many of them. An attacker needs at least
 * ten networks to use it up.
 */
const PER_EMAIL: Allowance = { attempts: 300, windowMs: 15 * 60_000 };
/**
 * For an e-mail in a browser in which it has signed in before, instead of the two above. So no one
 * else can lock it out there.
 */
const PER_EMAIL_AND_DEVICE: Allowance = { attempts: 30, windowMs: 15 * 60_000 };
/** How many expired sessions one attempt deletes: more than the one that it may create. */
const MAX_SESSIONS_DELETED = 100;

/**
 * A wrong attempt is answered this long after it began. Checking one takes less time, but a little
 * more if there is an account, because its password is looked up.
 */
const WRONG_MS = 500;

/** What better-auth says about wrong attempts. Anything else is the console's failure. */
const WRONG = new Set([
  'INVALID_EMAIL_OR_PASSWORD',
  'INVALID_EMAIL',
  'PASSWORD_TOO_LONG',
  'EMAIL_PASSWORD_DISABLED',
]);

export type SignInOutcome =
  | { readonly outcome: 'signed in'; readonly headers: Headers }
  /** The password is right. `headers` contain the cookie with which the second step continues. */
  | { readonly outcome: 'second step'; readonly headers: Headers }
  | { readonly outcome: 'wrong' }
  | { readonly outcome: 'too many'; readonly retryAfterS: number };

export interface SignIn {
  /**
   * Counts the attempt in Postgres before it checks the password. `headers` of the outcome contain
   * the cookies of the session and of the browser.
   */
  withPassword(attempt: {
    readonly email: string;
    readonly password: string;
    /** The caller's address. */
    readonly address: string;
    /** Contain the browser's cookies. */
    readonly headers: Headers;
  }): Promise<SignInOutcome>;
  /**
   * Counts an attempt to change a password as one to sign in. Null: allowed. Otherwise seconds to
   * wait. `headers` contain the browser's cookies.
   */
  guard(address: string, email: string, headers: Headers): Promise<number | null>;
  /** Counts an attempt that names no account. Null: allowed. Otherwise seconds to wait. */
  guardAddress(address: string): Promise<number | null>;
}

interface SignInOptions {
  readonly db: Db;
  readonly auth: Auth;
  readonly devices: Devices;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Resolves after that many milliseconds, or immediately if they are negative. */
  readonly wait?: (ms: number) => Promise<void>;
}

export function createSignIn({ db, auth, devices, now, wait = sleep }: SignInOptions): SignIn {
  const takeAll = async (allowances: Allowances): Promise<number | null> => {
    await clear(db, new Date(now()));
    // An attempt that one of these refuses does not count for the next, wider one. Otherwise a
    // single address could use up what its whole network or the e-mail is allowed.
    for (const [i, [key, allowance]] of allowances.entries()) {
      const waitMs = await take(db, now(), key, allowance);
      if (waitMs === 0) continue;
      const othersMs = await remainingWait(db, now(), allowances.slice(i + 1));
      return Math.ceil(Math.max(waitMs, othersMs) / 1_000);
    }
    return null;
  };
  const deviceIdOf = async (headers: Headers, email: string): Promise<string | null> => {
    const device = devices.known(headers, email);
    if (!device) return null;
    // An account that was deleted and created again with the same e-mail is another one.
    const account = await db.user.findUnique({ where: { id: device.userId }, select: { id: true } });
    return account ? device.id : null;
  };
  const guard: SignIn['guard'] = async (address, email, headers) =>
    takeAll(allowancesOf(address, email, await deviceIdOf(headers, email)));
  const wrong = async (begunMs: number): Promise<SignInOutcome> => {
    await wait(WRONG_MS - (performance.now() - begunMs));
    return { outcome: 'wrong' };
  };
  return {
    guard,
    guardAddress: (address) => takeAll(allowancesOfAddress(address)),
    async withPassword({ email, password, address, headers }) {
      const begunMs = performance.now();
      const retryAfterS = await guard(address, email, headers);
      if (retryAfterS !== null) return { outcome: 'too many', retryAfterS };
      const body = { email: email.trim().toLowerCase(), password };
      const before = await credentialOf(db, body.email);
      const response = await auth.api.signInEmail({ body, headers, asResponse: true });
      const { code = '', user, token = '' } = (await response.json()) as SignInAnswer;
      if (!response.ok) {
        if (!WRONG.has(code)) throw new Error(`sign-in failed with ${response.status} ${code}`);
        return wrong(begunMs);
      }
      if (!isDeepStrictEqual(before, await credentialOf(db, body.email))) {
        await db.session.deleteMany({ where: { token } });
        await db.verification.deleteMany({ where: { value: before?.userId ?? '' } });
        return wrong(begunMs);
      }
      if (!user) return { outcome: 'second step', headers: response.headers };
      const owner = { id: user.id, email };
      return { outcome: 'signed in', headers: devices.remember(response, headers, owner, 'password') };
    },
  };
}

/** What better-auth answers. */
interface SignInAnswer {
  readonly code?: string;
  /** Both are missing if a second step follows. */
  readonly user?: { readonly id: string };
  readonly token?: string;
}

type Allowances = [key: string, allowance: Allowance][];

/** @param deviceId of a browser in which the e-mail has signed in before, or null */
function allowancesOf(address: string, email: string, deviceId: string | null): Allowances {
  const hash = digest(email);
  const network = networkOf(address);
  const ofAddress = allowancesOfAddress(address);
  if (deviceId !== null) return [...ofAddress, [`email:${hash} device:${deviceId}`, PER_EMAIL_AND_DEVICE]];
  return [
    ...ofAddress,
    [`email:${hash} network:${network}`, PER_EMAIL_AND_NETWORK],
    [`email:${hash}`, PER_EMAIL],
  ];
}

function allowancesOfAddress(address: string): Allowances {
  const network = networkOf(address);
  const ofAddress: Allowances = [[`address:${address}`, PER_ADDRESS]];
  if (network !== address) ofAddress.push([`network:${network}`, PER_NETWORK]);
  return ofAddress;
}

/** Deletes what has expired. Skips sessions that another attempt is deleting. */
async function clear(db: Db, now: Date): Promise<void> {
  await db.verification.deleteMany({ where: { expiresAt: { lte: now } } });
  await db.signInAttempt.deleteMany({ where: { resetsAt: { lte: now } } });
  await db.$executeRaw`
    DELETE FROM session WHERE id IN (
      SELECT id FROM session WHERE expires_at <= ${now} LIMIT ${MAX_SESSIONS_DELETED} FOR UPDATE SKIP LOCKED)`;
}
