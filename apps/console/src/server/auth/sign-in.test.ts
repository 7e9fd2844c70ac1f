import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newUserId, randomBase62 } from '@tidegate/contracts';
import type { AccountEvent } from '@tidegate/control';
import { cheapHashing, testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { verifyPassword } from 'better-auth/crypto';
import { FAILURE, failOn } from '../../testing/fail-on.ts';
import { type Accounts, createAccounts } from './accounts.ts';
import { auditedSignIn } from './audited.ts';
import { type Auth, createAuth, type Hashing } from './auth.ts';
import { createDevices, type Devices } from './devices.ts';
import { digest } from './digest.ts';
import { createSignIn, type SignIn } from './sign-in.ts';

const PASSWORD = 'a-long-enough-password';
const HASH = cheapHashing.hash(PASSWORD);

const db = ownTestDb();
let auth: Auth;
let devices: Devices;
let signIn: SignIn;
let accounts: Accounts;
/** How long wrong attempts were held back. */
const waits: number[] = [];
/** What was done with passwords. To verify one is to hash it. */
const work: (keyof Hashing)[] = [];
const hashing: Hashing = {
  hash: (password) => {
    work.push('hash');
    return cheapHashing.hash(password);
  },
  verify: (given) => {
    work.push('verify');
    return cheapHashing.verify(given);
  },
};
const clock = testClock();
const SITE = { consoleUrl: 'https://console.example', secret: 'x'.repeat(32) };

beforeAll(async () => {
  auth = createAuth({ db: db(), ...SITE, oidc: null, hashing });
  devices = createDevices({ ...SITE, now: clock.now });
  signIn = createSignIn({ db: db(), auth, devices, now: clock.now, wait: async (ms) => void waits.push(ms) });
  accounts = createAccounts({ db: db(), auth, passwords: true });
});
beforeEach(() => clock.set(Date.now()));

async function account(ofEmail?: string, hash: string | null = null): Promise<string> {
  const id = newUserId();
  const email = ofEmail ?? `${id.toLowerCase()}@example.com`;
  await db().user.create({ data: { id, email, name: 'Ada' } });
  const password = hash ?? (await HASH);
  const row = { id: `acc_${randomBase62(8)}`, accountId: id, providerId: 'credential', userId: id, password };
  await db().account.create({ data: row });
  return email;
}

const attempt = (email: string, password: string, address: string, headers = new Headers()) =>
  signIn.withPassword({ email, password, address, headers });
const guard = (address: string, email: string, headers = new Headers()) =>
  signIn.guard(address, email, headers);

/** Leaves the count that 300 attempts from elsewhere would leave. */
async function useUp(email: string): Promise<void> {
  await guard('10.4.1.1', email);
  await db().signInAttempt.update({ where: { key: `email:${digest(email)}` }, data: { count: 300 } });
}

/** The headers of a browser in which the e-mail has signed in. */
async function browserOf(email: string, address: string): Promise<Headers> {
  const result = await attempt(email, PASSWORD, address);
  if (result.outcome !== 'signed in') throw new Error(result.outcome);
  const cookies = result.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  return new Headers({ cookie: cookies.join('; ') });
}

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
    expect(await db().session.count({ where: { user: { email } } })).toBe(1);
  });

  it('answers the same for a wrong password and for an e-mail without an account', async () => {
    const email = await account();
    expect(await attempt(email, 'wrong-password', '10.0.0.2')).toEqual({ outcome: 'wrong' });
    expect(await attempt('nobody@example.com', 'wrong-password', '10.0.0.2')).toEqual({ outcome: 'wrong' });
    for (const none of ['not an e-mail', 'nobody\0@example.com'])
      expect(await attempt(none, 'wrong-password', '10.0.0.2')).toEqual({ outcome: 'wrong' });
  });

  it('answers a wrong attempt, and no other, after a set time, whether or not there is an account', async () => {
    const email = await account();
    waits.length = 0;
    await attempt(email, PASSWORD, '203.0.113.31');
    expect(waits).toEqual([]);
    for (const to of [email, 'nobody@example.com', 'no e-mail'])
      expect((await attempt(to, 'wrong', '203.0.113.31')).outcome).toBe('wrong');
    expect(waits).toHaveLength(3);
  });

  it('takes as much work if there is no account, or if the account has no password, as for a wrong password', async () => {
    const [email, provided] = [await account(), await account()];
    await db().account.updateMany({ where: { user: { email: provided } }, data: { providerId: 'oidc' } });
    work.length = 0;
    for (const to of [email, 'nobody@example.com', provided])
      expect((await attempt(to, 'wrong-password', '203.0.113.32')).outcome).toBe('wrong');
    expect(work).toEqual(['verify', 'hash', 'hash']);
  });

  it('accepts passwords as better-auth hashes them with scrypt, and stores new ones in the same way', async () => {
    const before =
      '5385888969fa5ce58f602b1392cb1c40:81f9cdf0539cec178fa44dae09e7916332795439ce54a264a23122880bb153e0' +
      '16b4e6cfd69e7d6bed2e84c1f09fed07edeb4539c7309e9d6e238d05327e538d';
    const email = await account(undefined, before);
    const inProduction = createAuth({ db: db(), ...SITE, oidc: null });
    const own = { db: db(), auth: inProduction, passwords: true };
    const began = await createSignIn({ ...own, devices, now: clock.now }).withPassword({
      ...{ email, password: PASSWORD, address: '203.0.113.33', headers: new Headers() },
    });
    if (began.outcome !== 'signed in') throw new Error(began.outcome);
    const headers = new Headers({ cookie: began.headers.getSetCookie()[0]?.split(';')[0] ?? '' });
    const next = 'another-long-password';
    const changed = await createAccounts(own).changePassword({ current: PASSWORD, next, headers });
    expect(changed.outcome).toBe('changed');
    const { password } = await db().account.findFirstOrThrow({ where: { user: { email } } });
    expect(await verifyPassword({ hash: password ?? '', password: next })).toBe(true);
  });

  it('allows 20 attempts a minute from an address, even if they are concurrent, and then none, right or wrong', async () => {
    const email = await account();
    const waits = await Promise.all(
      Array.from({ length: 25 }, (_, i) => guard('10.0.0.3', `someone-${i}@example.com`)),
    );
    expect(waits.filter((wait) => wait === null)).toHaveLength(20);
    expect((await attempt(email, PASSWORD, '10.0.0.3')).outcome).toBe('too many');
    expect((await attempt(email, PASSWORD, '10.0.0.4')).outcome).toBe('signed in');
    clock.advance(60_000);
    expect((await attempt(email, PASSWORD, '10.0.0.3')).outcome).toBe('signed in');
  });

  it('allows 30 attempts in 15 minutes for an e-mail from one address, and its owner can sign in from another', async () => {
    const email = await account();
    const waits: (number | null)[] = [];
    for (const length of [15, 16, 25, ...Array(11).fill(1)]) {
      const guards = Array.from({ length }, () => guard('10.1.0.1', email));
      waits.push(...(await Promise.all(guards)));
      clock.advance(60_000);
    }
    expect(waits.filter((wait) => wait === null)).toHaveLength(30);
    expect((await attempt(email, PASSWORD, '10.1.0.1')).outcome).toBe('too many');
    // The refused ones have not used up the e-mail's wider limit.
    const wider = await db().signInAttempt.findUniqueOrThrow({ where: { key: `email:${digest(email)}` } });
    expect(wider.count).toBe(30);
    expect((await attempt(email, PASSWORD, '10.1.0.2')).outcome).toBe('signed in');
    clock.advance(60_000);
    expect((await attempt(email, PASSWORD, '10.1.0.1')).outcome).toBe('signed in');
  });

  it('says how long no attempt is allowed, even while it is the limit per minute that refuses', async () => {
    const email = await account();
    const tries = (length: number) => Promise.all(Array.from({ length }, () => guard('10.1.1.1', email)));
    await tries(15);
    clock.advance(60_000);
    await tries(15);
    // The limit of the minute has five attempts left, and that of 15 minutes has none.
    for (const wait of await tries(10)) expect(wait).toBe(14 * 60);
  });

  it('allows 300 attempts in 15 minutes for an e-mail from all addresses together', async () => {
    const email = await account();
    const guards = Array.from({ length: 301 }, (_, i) => guard(`10.2.0.${i}`, email));
    const waits = (await Promise.all(guards)).filter((wait) => wait !== null);
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeGreaterThan(0);
    expect(waits[0]).toBeLessThanOrEqual(900);
    clock.advance(15 * 60_000);
    expect((await attempt(email, PASSWORD, '10.2.1.1')).outcome).toBe('signed in');
  });

  it('stays possible in a browser that signed in before, whatever others attempt, 30 times in 15 minutes', async () => {
    const email = await account();
    const browser = await browserOf(email, '10.4.0.1');
    await useUp(email);
    expect((await attempt(email, PASSWORD, '10.4.0.1')).outcome).toBe('too many');
    expect((await attempt(email, PASSWORD, '10.4.0.1', browser)).outcome).toBe('signed in');
    expect((await attempt('else@example.com', 'wrong', '10.4.0.1', browser)).outcome).toBe('wrong');
    const waits = [];
    for (let i = 0; i < 30; i++) waits.push(await guard(`10.4.2.${i}`, email, browser));
    expect(waits.filter((wait) => wait === null)).toHaveLength(29);
  });

  it('is limited as usual for a browser whose cookie is for another e-mail, from another secret, forged or expired', async () => {
    const [email, other] = [await account(), await account()];
    const browser = await browserOf(email, '10.5.0.1');
    const [name = '', value = ''] =
      /(\S*device\S*?)=(\S+)/.exec(String(browser.get('cookie')))?.slice(1) ?? [];
    const known = (cookie: string, of = email) => devices.known(new Headers({ cookie }), of);
    const { id: userId } = await db().user.findUniqueOrThrow({ where: { email } });
    const id = expect.stringMatching(/^\w{20}$/);
    expect(known(`a=b; ${name}=${value}; c=d`)).toEqual({ id, userId });
    const ofOther = devices.remember(new Response(), new Headers(), { id: userId, email: other }, 'password');
    const nameOfOther = ofOther.get('set-cookie')?.split('=')[0];
    expect(known(`${nameOfOther}=${value}`, other)).toBeNull();
    const account2 = value.replace(userId, newUserId());
    const longer = value.replace(/\.\d{10}\./, '.9999999999.');
    for (const bad of [account2, value.replace(/^./, '-'), longer, value.slice(0, -1)])
      expect(known(`${name}=${bad}`)).toBeNull();
    for (const bad of ['...', '..', '']) expect(known(`${name}=${bad}`)).toBeNull();
    const elsewhere = createDevices({ ...SITE, secret: 'y'.repeat(32), now: clock.now });
    expect(elsewhere.known(browser, email)).toBeNull();
    clock.advance(181 * 86_400_000);
    expect(devices.known(browser, email)).toBeNull();
  });

  it('is limited as usual for a browser of an account that was deleted and created again with its e-mail', async () => {
    const email = await account();
    const browser = await browserOf(email, '10.7.0.1');
    const { id } = await db().user.findUniqueOrThrow({ where: { email } });
    await db().user.delete({ where: { email } });
    await account(email);
    await useUp(email);
    expect((await attempt(email, PASSWORD, '10.7.2.1', browser)).outcome).toBe('too many');
    clock.advance(15 * 60_000);
    const again = await attempt(email, PASSWORD, '10.7.2.1', browser);
    if (again.outcome !== 'signed in') throw new Error(again.outcome);
    const cookie = again.headers.getSetCookie().find((each) => each.includes('device')) ?? '';
    const now = devices.known(new Headers({ cookie: cookie.split(';')[0] ?? '' }), email);
    const before = devices.known(browser, email);
    expect(before?.userId).toBe(id);
    expect([now?.userId === id, now?.id === before?.id]).toEqual([false, false]);
  });

  it('is counted for IPv6 by the /48 as well: 100 attempts a minute, 30 in 15 minutes for one e-mail', async () => {
    const email = await account();
    const addressOf = (i: number) => `2001:db8:7:${(i % 200).toString(16)}::`;
    const all = (count: number, emailOf: (i: number) => string) =>
      Promise.all(Array.from({ length: count }, (_, i) => guard(addressOf(i), emailOf(i))));
    const ofEmail = await all(35, () => email);
    expect(ofEmail.filter((wait) => wait === null)).toHaveLength(30);
    const ofAll = await all(70, (i) => `someone-${i}@example.org`);
    expect(ofAll.filter((wait) => wait === null)).toHaveLength(65);
    expect((await attempt(email, PASSWORD, '2001:db8:8:1::')).outcome).toBe('signed in');
  });

  it('deletes sessions that have expired, and no others', async () => {
    const email = await account();
    const { id: userId } = await db().user.findUniqueOrThrow({ where: { email } });
    const session = (id: string, ms: number) => {
      const expiresAt = new Date(clock.now() + ms);
      return { id, token: id, userId, expiresAt };
    };
    await db().session.createMany({
      data: [session('past', -1), session('now', 0), session('later', 60_000)],
    });
    await guard('10.3.0.1', email);
    expect(await db().session.findMany({ where: { userId }, select: { id: true } })).toEqual([
      { id: 'later' },
    ]);
  });

  it('tells a failure of the database from a wrong password, and records no attempt', async () => {
    const email = await account();
    const events: AccountEvent[] = [];
    const record = async (event: AccountEvent) => void events.push(event);
    const audited = auditedSignIn(signIn, record, { now: clock.now });
    const right = { email, password: PASSWORD, address: '10.6.0.1', headers: new Headers() };
    await failOn(db(), 'INSERT ON session', async () => {
      await expect(audited.withPassword(right)).rejects.toThrow(FAILURE);
    });
    await audited.close();
    expect(events).toEqual([]);
  });

  it('never creates an account', async () => {
    const body = { email: 'new@example.com', password: PASSWORD, name: 'New' };
    await expect(auth.api.signUpEmail({ body })).rejects.toThrow();
    expect(await db().user.count({ where: { email: body.email } })).toBe(0);
  });
});

/** Signs in with the first password. `happens` runs once that password has been found right. */
function signInDuring(happens: () => Promise<void>) {
  const verify: Hashing['verify'] = async (given) => {
    const isRight = await cheapHashing.verify(given);
    await happens();
    return isRight;
  };
  const slow = createAuth({ db: db(), ...SITE, oidc: null, hashing: { ...cheapHashing, verify } });
  const late = createSignIn({ db: db(), auth: slow, devices, now: clock.now, wait: async () => {} });
  return (email: string) =>
    late.withPassword({ email, password: PASSWORD, address: '10.0.1.4', headers: new Headers() });
}

describe('two-factor sign-in', () => {
  it('that is turned on meanwhile refuses a sign-in that began without it', async () => {
    const email = await account();
    const late = signInDuring(async () => {
      await db().user.update({ where: { email }, data: { twoFactorEnabled: true } });
    });
    expect((await late(email)).outcome).toBe('wrong');
    expect(await db().session.count({ where: { user: { email } } })).toBe(0);
  });
});

describe('a change of the password', () => {
  const next = 'another-long-password';
  const session = (email: string) => browserOf(email, '10.0.1.1');

  it('requires the current one, and ends the other sessions', async () => {
    const email = await account();
    const [headers] = [await session(email), await session(email)];
    const wrong = await accounts.changePassword({ current: 'not the password', next, headers });
    expect(wrong).toEqual({ outcome: 'wrong' });
    expect((await accounts.changePassword({ current: PASSWORD, next, headers })).outcome).toBe('changed');
    expect(await db().session.count({ where: { user: { email } } })).toBe(1);
    expect((await attempt(email, next, '10.0.1.2')).outcome).toBe('signed in');
  });

  it.each([
    ['open a session', 'signed in', false],
    ['wait for its second step', 'second step', true],
  ])('refuses a sign-in with the old one that is under way and would %s', async (_what, outcome, isOn) => {
    const email = await account();
    const headers = await session(email);
    const user = await db().user.update({ where: { email }, data: { twoFactorEnabled: isOn } });
    await db().twoFactor.create({ data: { id: user.id, userId: user.id, secret: '', backupCodes: '' } });
    expect((await attempt(email, PASSWORD, '10.0.1.3')).outcome).toBe(outcome);
    const change = { current: PASSWORD, next, headers };
    const late = signInDuring(async () => {
      expect((await accounts.changePassword(change)).outcome).toBe('changed');
    });
    expect((await late(email)).outcome).toBe('wrong');
    expect(await db().session.count({ where: { user: { email } } })).toBe(1);
    expect(await db().verification.count({ where: { value: user.id } })).toBe(0);
    expect((await attempt(email, next, '10.0.1.3')).outcome).toBe(outcome);
  });

  it('that fails does not reveal whether the current one was right', async () => {
    const email = await account();
    const headers = await session(email);
    await db().account.deleteMany({ where: { user: { email } } });
    const change = { current: PASSWORD, next };
    expect(await accounts.changePassword({ ...change, headers })).toEqual({ outcome: 'failed' });
    expect(await accounts.changePassword({ ...change, headers: new Headers() })).toEqual({
      outcome: 'failed',
    });
  });
});
