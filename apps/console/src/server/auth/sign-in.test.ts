import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newUserId, randomBase62 } from '@tidegate/contracts';
import { closeDb, createDb, type Db } from '@tidegate/db';
import { type TestPostgres, testClock, testPostgres } from '@tidegate/testing';
import { hashPassword } from 'better-auth/crypto';
import { type Accounts, createAccounts } from './accounts.ts';
import { type Auth, createAuth } from './auth.ts';
import { createSignIn, type SignIn } from './sign-in.ts';

const PASSWORD = 'a-long-enough-password';

let postgres: TestPostgres;
let db: Db;
let auth: Auth;
let signIn: SignIn;
let accounts: Accounts;
const clock = testClock();

beforeAll(async () => {
  postgres = await testPostgres();
  db = createDb(postgres.url);
  auth = createAuth({ db, consoleUrl: 'https://console.example', secret: 'x'.repeat(32), oidc: null });
  signIn = createSignIn({ db, auth, now: clock.now });
  accounts = createAccounts({ db, auth, passwords: true });
});
afterAll(async () => {
  await closeDb(db);
  await postgres.drop();
});
beforeEach(() => clock.set(Date.now()));

async function account(): Promise<string> {
  const id = newUserId();
  const email = `${id.toLowerCase()}@example.com`;
  await db.user.create({ data: { id, email, name: 'Ada' } });
  const password = await hashPassword(PASSWORD);
  const row = { id: `acc_${randomBase62(8)}`, accountId: id, providerId: 'credential', userId: id, password };
  await db.account.create({ data: row });
  return email;
}

const attempt = (email: string, password: string, address: string) =>
  signIn.withPassword({ email, password, address, headers: new Headers() });

describe('sign-in with a password', () => {
  it('opens a session in Postgres behind a cookie that scripts and plain http cannot read', async () => {
    const email = await account();
    const result = await attempt(email.toUpperCase(), PASSWORD, '10.0.0.1');
    if (result.outcome !== 'signed in') throw new Error(result.outcome);
    const cookie = result.headers.getSetCookie().join();
    expect(cookie).toMatch(/__Secure-tidegate\.session_token=.*HttpOnly.*SameSite=Lax/i);
    expect(cookie).toContain('Secure');
    const session = await auth.api.getSession({
      headers: new Headers({ cookie: cookie.split(';')[0] ?? '' }),
    });
    expect(session?.user.email).toBe(email);
    expect(await db.session.count({ where: { user: { email } } })).toBe(1);
  });

  it('answers the same for a wrong password and for an e-mail without an account', async () => {
    const email = await account();
    expect(await attempt(email, 'wrong-password', '10.0.0.2')).toEqual({ outcome: 'wrong' });
    expect(await attempt('nobody@example.com', 'wrong-password', '10.0.0.2')).toEqual({ outcome: 'wrong' });
    expect(await attempt('not an e-mail', 'wrong-password', '10.0.0.2')).toEqual({ outcome: 'wrong' });
  });

  it('allows 20 attempts a minute from an address, even if they are concurrent, and then none, right or wrong', async () => {
    const email = await account();
    const waits = await Promise.all(
      Array.from({ length: 25 }, (_, i) => signIn.guard('10.0.0.3', `someone-${i}@example.com`)),
    );
    expect(waits.filter((wait) => wait === null)).toHaveLength(20);
    expect((await attempt(email, PASSWORD, '10.0.0.3')).outcome).toBe('too many');
    expect((await attempt(email, PASSWORD, '10.0.0.4')).outcome).toBe('signed in');
    clock.advance(60_000);
    expect((await attempt(email, PASSWORD, '10.0.0.3')).outcome).toBe('signed in');
  });

  it('allows 30 attempts in 15 minutes for an e-mail from an address, and its owner can sign in from another', async () => {
    const email = await account();
    const waits: (number | null)[] = [];
    // 451 attempts. The refused ones must not use up the e-mail's wider limit.
    for (const length of [15, 16, ...Array(12).fill(35)]) {
      const guards = Array.from({ length }, () => signIn.guard('10.1.0.1', email));
      waits.push(...(await Promise.all(guards)));
      clock.advance(60_000);
    }
    expect(waits.filter((wait) => wait === null)).toHaveLength(30);
    expect((await attempt(email, PASSWORD, '10.1.0.1')).outcome).toBe('too many');
    expect((await attempt(email, PASSWORD, '10.1.0.2')).outcome).toBe('signed in');
    clock.advance(60_000);
    expect((await attempt(email, PASSWORD, '10.1.0.1')).outcome).toBe('signed in');
  });

  it('allows 300 attempts in 15 minutes for an e-mail from all addresses together', async () => {
    const email = await account();
    const guards = Array.from({ length: 301 }, (_, i) => signIn.guard(`10.2.0.${i}`, email));
    const waits = (await Promise.all(guards)).filter((wait) => wait !== null);
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeGreaterThan(0);
    expect(waits[0]).toBeLessThanOrEqual(900);
    clock.advance(15 * 60_000);
    expect((await attempt(email, PASSWORD, '10.2.1.1')).outcome).toBe('signed in');
  });

  it('deletes sessions that have expired, and no others', async () => {
    const email = await account();
    const { id: userId } = await db.user.findUniqueOrThrow({ where: { email } });
    const session = (id: string, ms: number) => {
      const expiresAt = new Date(clock.now() + ms);
      return { id, token: id, userId, expiresAt };
    };
    await db.session.createMany({ data: [session('past', -1), session('now', 0), session('later', 60_000)] });
    await signIn.guard('10.3.0.1', email);
    expect(await db.session.findMany({ where: { userId }, select: { id: true } })).toEqual([{ id: 'later' }]);
  });

  it('never creates an account', async () => {
    const body = { email: 'new@example.com', password: PASSWORD, name: 'New' };
    await expect(auth.api.signUpEmail({ body })).rejects.toThrow();
    expect(await db.user.count({ where: { email: body.email } })).toBe(0);
  });
});

describe('a change of the password', () => {
  const next = 'another-long-password';
  /** The headers of a browser with a new session. */
  const session = async (email: string): Promise<Headers> => {
    const result = await attempt(email, PASSWORD, '10.0.1.1');
    if (result.outcome !== 'signed in') throw new Error(result.outcome);
    return new Headers({ cookie: result.headers.getSetCookie()[0]?.split(';')[0] ?? '' });
  };

  it('requires the current one, and ends the other sessions', async () => {
    const email = await account();
    const [headers] = [await session(email), await session(email)];
    const wrong = await accounts.changePassword({ current: 'not the password', next, headers });
    expect(wrong).toEqual({ outcome: 'wrong' });
    expect((await accounts.changePassword({ current: PASSWORD, next, headers })).outcome).toBe('changed');
    expect(await db.session.count({ where: { user: { email } } })).toBe(1);
    expect((await attempt(email, next, '10.0.1.2')).outcome).toBe('signed in');
  });

  it('that fails does not reveal whether the current one was right', async () => {
    const email = await account();
    const headers = await session(email);
    await db.account.deleteMany({ where: { user: { email } } });
    const change = { current: PASSWORD, next };
    expect(await accounts.changePassword({ ...change, headers })).toEqual({ outcome: 'failed' });
    expect(await accounts.changePassword({ ...change, headers: new Headers() })).toEqual({
      outcome: 'failed',
    });
  });
});
