import { createHash } from 'node:crypto';
import type { Db } from '@tidegate/db';
import type { Auth } from './auth.ts';

/** Attempts let through in a window, whether they succeed or not. */
interface Allowance {
  readonly attempts: number;
  readonly windowMs: number;
}

const PER_ADDRESS: Allowance = { attempts: 20, windowMs: 60_000 };
/** By e-mail and address together: whoever uses it up keeps the e-mail's owner out from nowhere else. */
const PER_EMAIL_AND_ADDRESS: Allowance = { attempts: 30, windowMs: 15 * 60_000 };
/** From everywhere: against guessing from many addresses. Using it up takes a stranger ten of them at least. */
const PER_EMAIL: Allowance = { attempts: 300, windowMs: 15 * 60_000 };
/** Expired sessions deleted by an attempt: more than the session that it may open. */
const MAX_SESSIONS_DELETED = 100;

export type SignInOutcome =
  | { readonly outcome: 'signed in'; readonly headers: Headers }
  | { readonly outcome: 'wrong' }
  | { readonly outcome: 'too many'; readonly retryAfterS: number };

export interface SignIn {
  /** Counts the attempt in Postgres, before the password is looked at. `headers` hold the session's cookie. */
  withPassword(attempt: {
    readonly email: string;
    readonly password: string;
    /** The caller's. */
    readonly address: string;
    readonly headers: Headers;
  }): Promise<SignInOutcome>;
  /** Counts an attempt to change a password like one to sign in. Null: let through; otherwise seconds to wait. */
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
    // What was refused already is not counted here: one address alone could use this up.
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
      return response.ok ? { outcome: 'signed in', headers: response.headers } : { outcome: 'wrong' };
    },
  };
}

/** Deletes what has run out. Sessions that another attempt is deleting are left to it. */
async function clear(db: Db, now: Date): Promise<void> {
  await db.signInAttempt.deleteMany({ where: { resetsAt: { lte: now } } });
  await db.$executeRaw`
    DELETE FROM session WHERE id IN (
      SELECT id FROM session WHERE expires_at <= ${now} LIMIT ${MAX_SESSIONS_DELETED} FOR UPDATE SKIP LOCKED)`;
}

/** One statement: concurrent attempts each count. @returns how long to wait, ms; 0: let through */
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
