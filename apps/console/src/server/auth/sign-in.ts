import { createHash } from 'node:crypto';
import type { Db } from '@tidegate/db';
import type { Auth } from './auth.ts';

/** How many attempts a window allows, successful or not. */
interface Allowance {
  readonly attempts: number;
  readonly windowMs: number;
}

const PER_ADDRESS: Allowance = { attempts: 20, windowMs: 60_000 };
/**
 * For an e-mail from one address. Using it up locks out the e-mail's owner at that address only.
 */
const PER_EMAIL_AND_ADDRESS: Allowance = { attempts: 30, windowMs: 15 * 60_000 };
/**
 * For an e-mail from all addresses, against guessing from many of them. An attacker needs at least
 * ten addresses to use it up.
 */
const PER_EMAIL: Allowance = { attempts: 300, windowMs: 15 * 60_000 };
/**
 * Expired sessions that one attempt deletes. It is more than the one session that it may create.
 */
const MAX_SESSIONS_DELETED = 100;

export type SignInOutcome =
  | { readonly outcome: 'signed in'; readonly headers: Headers }
  /** The password is right. `headers` contain the cookie with which the second step goes on. */
  | { readonly outcome: 'second step'; readonly headers: Headers }
  | { readonly outcome: 'wrong' }
  | { readonly outcome: 'too many'; readonly retryAfterS: number };

export interface SignIn {
  /**
   * Counts the attempt in Postgres before it checks the password. `headers` contain the session's
   * cookie.
   */
  withPassword(attempt: {
    readonly email: string;
    readonly password: string;
    /** The caller's address. */
    readonly address: string;
    readonly headers: Headers;
  }): Promise<SignInOutcome>;
  /**
   * Counts an attempt to change a password as one to sign in. Null: allowed. Otherwise seconds to
   * wait.
   */
  guard(address: string, email: string): Promise<number | null>;
}

export function createSignIn({ db, auth, now }: { db: Db; auth: Auth; now: () => number }): SignIn {
  const guard = async (address: string, email: string): Promise<number | null> => {
    await clear(db, new Date(now()));
    const hash = digest(email.trim().toLowerCase());
    const waits = await Promise.all([
      take(db, now(), `address:${address}`, PER_ADDRESS),
      take(db, now(), `email:${hash} address:${address}`, PER_EMAIL_AND_ADDRESS),
    ]);
    // Attempts that are already refused do not count here. Otherwise one address could use this up.
    if (Math.max(...waits) === 0) waits.push(await take(db, now(), `email:${hash}`, PER_EMAIL));
    const waitMs = Math.max(...waits);
    return waitMs > 0 ? Math.ceil(waitMs / 1_000) : null;
  };
  return {
    guard,
    async withPassword({ email, password, address, headers }) {
      const retryAfterS = await guard(address, email);
      if (retryAfterS !== null) return { outcome: 'too many', retryAfterS };
      const body = { email: email.trim().toLowerCase(), password };
      const response = await auth.api
        .signInEmail({ body, headers, asResponse: true })
        .catch(() => new Response(null, { status: 400 }));
      if (response.status >= 500) throw new Error(`sign-in failed with ${response.status}`);
      if (!response.ok) return { outcome: 'wrong' };
      const { twoFactorRedirect = false } = (await response.json()) as { twoFactorRedirect?: boolean };
      return { outcome: twoFactorRedirect ? 'second step' : 'signed in', headers: response.headers };
    },
  };
}

/** Deletes what has expired. Skips sessions that another attempt is deleting. */
async function clear(db: Db, now: Date): Promise<void> {
  await db.signInAttempt.deleteMany({ where: { resetsAt: { lte: now } } });
  await db.$executeRaw`
    DELETE FROM session WHERE id IN (
      SELECT id FROM session WHERE expires_at <= ${now} LIMIT ${MAX_SESSIONS_DELETED} FOR UPDATE SKIP LOCKED)`;
}

/**
 * One statement, so that each concurrent attempt counts.
 *
 * @returns milliseconds to wait; 0: allowed
 */
async function take(db: Db, nowMs: number, key: string, { attempts, windowMs }: Allowance): Promise<number> {
  const now = new Date(nowMs);
  const end = new Date(nowMs + windowMs);
  const [row] = await db.$queryRaw<{ count: number; resets_at: Date }[]>`
    INSERT INTO sign_in_attempt AS a (key, count, resets_at) VALUES (${key}, 1, ${end})
    ON CONFLICT (key) DO UPDATE SET
      count = CASE WHEN a.resets_at <= ${now} THEN 1 ELSE a.count + 1 END,
      resets_at = CASE WHEN a.resets_at <= ${now} THEN ${end} ELSE a.resets_at END
    RETURNING count, resets_at`;
  if (!row || row.count <= attempts) return 0;
  return Math.max(1, row.resets_at.getTime() - nowMs);
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
