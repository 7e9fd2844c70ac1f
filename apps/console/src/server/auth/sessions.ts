import { CREDENTIAL } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import { within } from '@tidegate/runtime';
import type { Auth } from './auth.ts';
import type { EndPageKeys } from './page-keys.ts';

/** What an id can look like. Postgres refuses to search for some other strings. */
const ID = /^\w{1,64}$/;
/** By how much a session's last use may be out of date. */
const PRECISION_MS = 60_000;

export interface OpenSession {
  readonly id: string;
  readonly user: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly twoFactorEnabled?: boolean | null | undefined;
  };
}

export interface ListedSession {
  readonly id: string;
  /** As the browser sent it. */
  readonly userAgent: string;
  readonly startedAt: Date;
  readonly lastSeenAt: Date;
}

export interface UserSessions {
  /**
   * The session whose cookie `headers` contain. Null: there is none, or it was unused for too long
   * and is ended now. `used`: this counts as a use. Rejects if the database takes too long.
   */
  current(headers: Headers, used: boolean): Promise<OpenSession | null>;
  /** A user's sessions, last used first. */
  list(userId: string): Promise<ListedSession[]>;
  /** Ends one of the user's sessions. False: there is none with this id, which may be anything. */
  end(userId: string, sessionId: unknown): Promise<boolean>;
}

interface SessionsOptions {
  readonly db: Db;
  readonly auth: Auth;
  readonly idleTimeoutMs: number;
  /** How long to wait for the current session. Default: 8,000. */
  readonly waitMs?: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/**
 * Every page and action first looks up the current session, which normally takes a moment. While
 * the database hangs, people learn of it after this time, before the statement times out.
 */
const WAIT_MS = 8_000;

export function createSessions(options: SessionsOptions): UserSessions {
  const { db, auth, idleTimeoutMs, waitMs = WAIT_MS, now } = options;
  /** Sessions whose last use is not after this are ended. */
  const deadline = () => new Date(now() - idleTimeoutMs);
  const find = async (headers: Headers, used: boolean): Promise<OpenSession | null> => {
    const found = await auth.api.getSession({ headers });
    if (!found) return null;
    const { id, lastSeenAt } = found.session;
    if (lastSeenAt <= deadline()) {
      await db.session.deleteMany({ where: { id, lastSeenAt: { lte: deadline() } } });
      return null;
    }
    if (used && lastSeenAt.getTime() <= now() - PRECISION_MS)
      await db.session.updateMany({ where: { id }, data: { lastSeenAt: new Date(now()) } });
    return { id, user: found.user };
  };
  return {
    async current(headers, used) {
      const session = await within(find(headers, used), waitMs, undefined);
      if (session === undefined) throw new Error('the database did not return the session in time');
      return session;
    },
    async list(userId) {
      const rows = await db.session.findMany({
        where: { userId, expiresAt: { gt: new Date(now()) }, lastSeenAt: { gt: deadline() } },
        orderBy: [{ lastSeenAt: 'desc' }, { id: 'asc' }],
        select: { id: true, userAgent: true, createdAt: true, lastSeenAt: true },
      });
      return rows.map(({ userAgent, createdAt, ...row }) => ({
        ...row,
        userAgent: userAgent ?? '',
        startedAt: createdAt,
      }));
    },
    end: async (userId, sessionId) =>
      typeof sessionId === 'string' &&
      ID.test(sessionId) &&
      (await db.session.deleteMany({ where: { id: sessionId, userId } })).count > 0,
  };
}

/**
 * Ends what a password may have begun before passwords were turned off: sessions, and sign-ins that
 * wait for their second step. Nothing records which sessions began without a password, so everyone
 * who has one must sign in again. Their page keys end, too.
 */
export async function endPasswordSessions(db: Db, endPageKeys: EndPageKeys): Promise<void> {
  const accounts = { some: { providerId: CREDENTIAL } };
  await db.$transaction([
    db.$executeRaw`
      DELETE FROM verification
      WHERE value IN (SELECT user_id FROM account WHERE provider_id = ${CREDENTIAL})`,
    db.session.deleteMany({ where: { user: { accounts } } }),
  ]);
  const users = await db.user.findMany({
    where: { accounts, pageKeys: { some: {} } },
    select: { id: true },
  });
  for (const { id } of users) await endPageKeys(id);
}

/**
 * Whether a user caused a request: opened a page or ran an action. Pages that refresh themselves do
 * neither. What a user does without a request, such as typing, a page reports by itself.
 */
export const isUse = (headers: Headers): boolean =>
  headers.get('sec-fetch-dest') === 'document' || headers.has('next-action');
