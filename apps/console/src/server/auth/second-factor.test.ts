import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newUserId, randomBase62 } from '@tidegate/contracts';
import type { AccountEvent } from '@tidegate/control';
import { cheapHashing, testClock, totp } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { FAILURE, failOn } from '../../testing/fail-on.ts';
import { CLIENT_ADDRESS_HEADER } from '../http/names.ts';
import { createAccounts } from './accounts.ts';
import { auditedSecondFactor } from './audited.ts';
import { type Auth, createAuth } from './auth.ts';
import { createDevices } from './devices.ts';
import { resealSecondFactors } from './reseal-second-factors.ts';
import { createSecondFactor, type SecondFactor } from './second-factor.ts';
import { endPasswordSessions } from './sessions.ts';
import { createSignIn, type SignIn } from './sign-in.ts';

const PASSWORD = 'a-long-enough-password';
const HASH = cheapHashing.hash(PASSWORD);
const SECRET = 'x'.repeat(32);
const SITE = 'https://console.example';

const db = ownTestDb();
let auth: Auth;
let signIn: SignIn;
let factor: SecondFactor;
const clock = testClock();
const devices = createDevices({ secret: SECRET, consoleUrl: SITE, now: clock.now });

beforeAll(async () => {
  auth = createAuth({ db: db(), consoleUrl: SITE, secret: SECRET, oidc: null, hashing: cheapHashing });
  const { now } = clock;
  signIn = createSignIn({ db: db(), auth, devices, now });
  factor = createSecondFactor({ db: db(), auth, devices, now });
});
beforeEach(() => clock.set(Date.now()));

async function account(ofEmail?: string): Promise<string> {
  const id = newUserId();
  const email = ofEmail ?? `${id.toLowerCase()}@example.com`;
  await db().user.create({ data: { id, email, name: 'Ada' } });
  const password = await HASH;
  const row = { id: `acc_${randomBase62(8)}`, accountId: id, providerId: 'credential', userId: id, password };
  await db().account.create({ data: row });
  return email;
}

/** What a browser sends after an answer: the cookies that the answer left it. */
const after = (headers: Headers): Headers => {
  const kept = headers.getSetCookie().filter((cookie) => !/max-age=0/i.test(cookie));
  return new Headers({ cookie: kept.map((cookie) => cookie.split(';')[0]).join('; ') });
};
const isSignedIn = async (headers: Headers) => (await auth.api.getSession({ headers })) !== null;

/** In another browser each time, if none is given. */
async function password(
  email: string,
  browser = new Headers(),
): Promise<{ outcome: string; headers: Headers }> {
  const attempt = { email, password: PASSWORD, address: randomBase62(8), headers: browser };
  const result = await signIn.withPassword(attempt);
  if (!('headers' in result)) throw new Error(result.outcome);
  const cookies = [browser, after(result.headers)].map((headers) => headers.get('cookie') ?? '');
  return { outcome: result.outcome, headers: new Headers({ cookie: cookies.filter(Boolean).join('; ') }) };
}

/** A browser that has kept only the cookie by which it is known. */
const withoutSession = (headers: Headers): Headers => {
  const cookies = `${headers.get('cookie')}`.split('; ').filter((cookie) => cookie.includes('.device.'));
  expect(cookies).toHaveLength(1);
  return new Headers({ cookie: cookies.join('; ') });
};

/** Enters wrong codes, five after each right password, until the second step is locked. */
async function lock(email: string, uri: string, browser?: Headers): Promise<number> {
  for (let count = 0; ; ) {
    const { headers } = await password(email, browser);
    for (let i = 0; i < 5; i++, count++)
      if ((await factor.complete({ code: totp(uri, 0), headers })).outcome === 'locked') return count;
  }
}

/** An account that uses an authenticator app, and one of its sessions. */
async function withApp(ofEmail?: string) {
  const email = await account(ofEmail);
  const { headers } = await password(email);
  const begun = await factor.begin({ password: PASSWORD, headers });
  if (begun.outcome !== 'begun') throw new Error(begun.outcome);
  const confirmed = await factor.confirm({ code: totp(begun.uri), headers });
  if (confirmed.outcome !== 'changed') throw new Error(confirmed.outcome);
  return { email, ...begun, headers: after(confirmed.headers) };
}

describe('an authenticator app', () => {
  it('is in use only once a code proves that it works, and then ends the sessions begun without it', async () => {
    const email = await account();
    const [laptop, phone] = [(await password(email)).headers, (await password(email)).headers];
    expect(await factor.begin({ password: 'not the password', headers: laptop })).toEqual({
      outcome: 'wrong',
    });
    const begun = await factor.begin({ password: PASSWORD, headers: laptop });
    if (begun.outcome !== 'begun') throw new Error(begun.outcome);
    expect(decodeURIComponent(begun.uri)).toContain(`otpauth://totp/console.example:${email}?`);
    expect(begun.recoveryCodes).toHaveLength(10);
    const wrong = totp(begun.uri, 0);
    expect(await factor.confirm({ code: wrong, headers: laptop })).toEqual({ outcome: 'wrong' });
    expect((await password(email)).outcome).toBe('signed in');
    const code = totp(begun.uri);
    const changed = await factor.confirm({ code: `${code.slice(0, 3)} ${code.slice(3)}`, headers: laptop });
    if (changed.outcome !== 'changed') throw new Error(changed.outcome);
    expect(await isSignedIn(after(changed.headers))).toBe(true);
    expect(await db().session.count({ where: { user: { email } } })).toBe(1);
    expect(await isSignedIn(phone)).toBe(false);
  });

  it('is asked for after the password, which alone opens no session', async () => {
    const { email, uri } = await withApp();
    const { outcome, headers } = await password(email);
    expect(outcome).toBe('second step');
    expect(await isSignedIn(headers)).toBe(false);
    expect(await db().session.count({ where: { user: { email } } })).toBe(1);
    const done = await factor.complete({ code: totp(uri), headers });
    if (done.outcome !== 'signed in') throw new Error(done.outcome);
    expect(done).toMatchObject({
      by: 'app',
      userId: (await db().user.findUniqueOrThrow({ where: { email } })).id,
    });
    expect(await isSignedIn(after(done.headers))).toBe(true);
    expect(await factor.complete({ code: totp(uri), headers })).toEqual({ outcome: 'over' });
    expect(await factor.complete({ code: totp(uri), headers: new Headers() })).toEqual({ outcome: 'over' });
  });

  it('shows codes that each sign in only once, even in concurrent sign-ins', async () => {
    const { email, uri } = await withApp();
    const [first, second] = [(await password(email)).headers, (await password(email)).headers];
    const code = totp(uri);
    const both = await Promise.all([first, second].map((headers) => factor.complete({ code, headers })));
    expect(both.map(({ outcome }) => outcome).sort()).toEqual(['signed in', 'wrong']);
    expect(await db().session.count({ where: { user: { email } } })).toBe(2);
  });

  it('can be added to an account whose passkeys are its second factor, which ends no session', async () => {
    const email = await account();
    const [laptop, phone] = [(await password(email)).headers, (await password(email)).headers];
    // What creating a passkey leaves: recovery codes, and an app that was never confirmed.
    const first = await factor.begin({ password: PASSWORD, headers: laptop });
    if (first.outcome !== 'begun') throw new Error(first.outcome);
    const { id: userId } = await db().user.update({ where: { email }, data: { twoFactorEnabled: true } });
    expect(await factor.hasApp(userId)).toBe(false);
    const begun = await factor.begin({ password: PASSWORD, headers: laptop });
    if (begun.outcome !== 'begun') throw new Error(begun.outcome);
    expect(await factor.confirm({ code: totp(first.uri), headers: laptop })).toEqual({ outcome: 'wrong' });
    const added = await factor.confirm({ code: totp(begun.uri), headers: laptop });
    expect(added.outcome).toBe('changed');
    expect(await factor.hasApp(userId)).toBe(true);
    expect(await Promise.all([laptop, phone].map(isSignedIn))).toEqual([true, true]);
    const headers = (await password(email)).headers;
    expect((await factor.complete({ code: totp(begun.uri), headers })).outcome).toBe('signed in');
    expect((await factor.complete({ code: first.recoveryCodes[0] ?? '', headers })).outcome).toBe('over');
  });

  it('is not taken for one by an account that has only passkeys, which takes its recovery codes', async () => {
    const email = await account();
    const begun = await factor.begin({ password: PASSWORD, headers: (await password(email)).headers });
    if (begun.outcome !== 'begun') throw new Error(begun.outcome);
    await db().user.update({ where: { email }, data: { twoFactorEnabled: true } });
    const { headers } = await password(email);
    for (let i = 0; i < 12; i++)
      expect(await factor.complete({ code: totp(begun.uri), headers })).toEqual({ outcome: 'no app' });
    const [code = ''] = begun.recoveryCodes;
    expect((await factor.complete({ code, headers })).outcome).toBe('signed in');
  });

  it('in use can be neither confirmed nor replaced by whoever has a session, or has only begun to sign in', async () => {
    const { email, uri, headers } = await withApp();
    const begun = (await password(email)).headers;
    for (const each of [headers, begun, new Headers()])
      expect(await factor.confirm({ code: totp(uri), headers: each })).toEqual({ outcome: 'failed' });
    expect(await factor.begin({ password: PASSWORD, headers })).toEqual({ outcome: 'failed' });
  });

  it('leaves neither its secret nor the recovery codes readable in Postgres', async () => {
    const { uri, recoveryCodes } = await withApp();
    const rows = JSON.stringify(await db().twoFactor.findMany());
    const secret = new URL(uri).searchParams.get('secret') ?? '';
    const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
    const bits = [...secret].map((letter) => base32.indexOf(letter).toString(2).padStart(5, '0')).join('');
    const raw = String.fromCharCode(...(bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
    expect(raw).toHaveLength(32);
    for (const part of [secret, raw, ...recoveryCodes]) expect(rows).not.toContain(part);
  });

  it('can be replaced by each recovery code once, until new ones are generated', async () => {
    const { email, recoveryCodes, headers } = await withApp();
    const come = async (code = '') =>
      (await factor.complete({ code, headers: (await password(email)).headers })).outcome;
    expect(await come(recoveryCodes[0])).toBe('signed in');
    expect(await come(recoveryCodes[0])).toBe('wrong');
    expect(await factor.renewCodes({ password: 'wrong', headers })).toEqual({ outcome: 'wrong' });
    const renewed = await factor.renewCodes({ password: PASSWORD, headers });
    if (renewed.outcome !== 'renewed') throw new Error(renewed.outcome);
    expect(await come(recoveryCodes[1])).toBe('wrong');
    expect(await come(renewed.recoveryCodes[1])).toBe('signed in');
  });

  it('allows 5 codes for a sign-in and 10 for an account, and then none, right or wrong', async () => {
    const { email, uri, recoveryCodes } = await withApp();
    const [right, wrong] = [totp(uri), totp(uri, 0)];
    const first = (await password(email)).headers;
    const outcomes = [];
    for (const code of [wrong, 'aaaaa-bbbbb', wrong, wrong, wrong, right])
      outcomes.push((await factor.complete({ code, headers: first })).outcome);
    expect(outcomes).toEqual([...Array(5).fill('wrong'), 'over']);
    const second = (await password(email)).headers;
    for (let i = 0; i < 5; i++) await factor.complete({ code: wrong, headers: second });
    const { headers } = await password(email);
    for (const code of [right, recoveryCodes[0] ?? ''])
      expect(await factor.complete({ code, headers })).toMatchObject({ outcome: 'locked' });
    clock.advance(15 * 60_000);
    expect((await factor.complete({ code: totp(uri), headers })).outcome).toBe('signed in');
    expect(await lock(email, uri)).toBe(10);
  });

  it('cannot be locked by others in a browser that signed in with it before, which may try 10 codes of its own', async () => {
    const { email, uri, recoveryCodes, headers } = await withApp();
    const known = withoutSession(headers);
    await lock(email, uri);
    const code = recoveryCodes[0] ?? '';
    const done = await factor.complete({ code, headers: (await password(email, known)).headers });
    if (done.outcome !== 'signed in') throw new Error(done.outcome);
    const again = withoutSession(after(done.headers));
    expect(await lock(email, uri, again)).toBe(10);
    clock.advance(15 * 60_000);
    const later = { code: totp(uri), headers: (await password(email, again)).headers };
    expect((await factor.complete(later)).outcome).toBe('signed in');
  });

  it('allows no further codes to browsers that signed in with the password alone, before there was an app', async () => {
    const email = await account();
    const before = withoutSession((await password(email)).headers);
    const { headers } = await password(email);
    const begun = await factor.begin({ password: PASSWORD, headers });
    if (begun.outcome !== 'begun') throw new Error(begun.outcome);
    await factor.confirm({ code: totp(begun.uri), headers });
    await lock(email, begun.uri);
    expect(await lock(email, begun.uri, before)).toBe(0);
  });

  it('allows no further codes to browsers of an account that was deleted and created again with its e-mail', async () => {
    const { email, headers } = await withApp();
    await db().user.delete({ where: { email } });
    const { uri } = await withApp(email);
    await lock(email, uri);
    expect(await lock(email, uri, withoutSession(headers))).toBe(0);
  });

  it('survives the replacement of the secret that encrypts it, once a console has started with both', async () => {
    const { email, uri } = await withApp();
    const next = 'y'.repeat(32);
    const authWith = (previousSecret?: string) =>
      createAuth({
        db: db(),
        consoleUrl: SITE,
        secret: next,
        previousSecret,
        oidc: null,
        hashing: cheapHashing,
      });
    const others = await db().twoFactor.count();
    const lost = (await withApp()).email;
    await db().twoFactor.updateMany({ where: { user: { email: lost } }, data: { secret: '$ba$1$00' } });
    const both = { db: db(), auth: authWith(SECRET) };
    // The first call stops before it has resealed any.
    await expect(resealSecondFactors(both, AbortSignal.abort())).rejects.toThrow('aborted');
    const { signal } = new AbortController();
    expect(await resealSecondFactors(both, signal)).toEqual({ resealed: others, unreadable: 1 });
    expect(await resealSecondFactors(both, signal)).toEqual({ resealed: 0, unreadable: 1 });
    const devices = createDevices({ secret: next, consoleUrl: SITE, now: Date.now });
    const later = { db: db(), auth: authWith(), devices, now: Date.now };
    const attempt = { email, password: PASSWORD, address: '10.1.1.1', headers: new Headers() };
    const begun = await createSignIn(later).withPassword(attempt);
    if (begun.outcome !== 'second step') throw new Error(begun.outcome);
    const headers = after(begun.headers);
    // The code that set the app up has been used, so this is the next one.
    const code = totp(uri, Date.now() + 30_000);
    expect(await createSecondFactor(later).complete({ code, headers })).toMatchObject({
      outcome: 'signed in',
    });
  });

  it('is said to be unreadable, whatever the code, once the secret that encrypts it is gone', async () => {
    const { email, uri, recoveryCodes } = await withApp();
    const next = createAuth({
      db: db(),
      consoleUrl: SITE,
      secret: 'z'.repeat(32),
      oidc: null,
      hashing: cheapHashing,
    });
    const later = { db: db(), auth: next, devices, now: clock.now };
    const attempt = { email, password: PASSWORD, address: '10.1.1.2', headers: new Headers() };
    const begun = await createSignIn(later).withPassword(attempt);
    if (begun.outcome !== 'second step') throw new Error(begun.outcome);
    const headers = after(begun.headers);
    for (const code of [totp(uri, Date.now() + 30_000), `${recoveryCodes[0]}`])
      expect(await createSecondFactor(later).complete({ code, headers })).toEqual({ outcome: 'unreadable' });
    expect(await db().session.count({ where: { user: { email } } })).toBe(1);
  });

  it('opens no session if the password is changed while its code is being checked', async () => {
    const { email, uri, headers } = await withApp();
    const begun = (await password(email)).headers;
    const accounts = createAccounts({ db: db(), auth, passwords: true });
    const verifyTOTP: Auth['api']['verifyTOTP'] = async (given) => {
      const verified = await auth.api.verifyTOTP(given);
      await accounts.changePassword({ current: PASSWORD, next: 'another-long-password', headers });
      return verified as never;
    };
    const slow = { ...auth, api: { ...auth.api, verifyTOTP } } as Auth;
    const late = createSecondFactor({ db: db(), auth: slow, devices, now: clock.now });
    expect(await late.complete({ code: totp(uri), headers: begun })).toEqual({ outcome: 'over' });
    expect(await db().session.count({ where: { user: { email } } })).toBe(1);
  });

  it('is no longer asked for in a sign-in that began with a password which was changed since', async () => {
    const { email, uri, headers } = await withApp();
    const [begun, other] = [await password(email), await password((await withApp()).email)];
    const accounts = createAccounts({ db: db(), auth, passwords: true });
    const next = 'another-long-password';
    expect((await accounts.changePassword({ current: PASSWORD, next, headers })).outcome).toBe('changed');
    const code = totp(uri, Date.now() + 30_000);
    expect(await factor.complete({ code, headers: begun.headers })).toEqual({ outcome: 'over' });
    expect(await factor.complete({ code, headers: other.headers })).toMatchObject({ outcome: 'wrong' });
  });

  it('is no longer asked for in a sign-in that began before passwords were turned off', async () => {
    const { email, uri } = await withApp();
    const { headers } = await password(email);
    await endPasswordSessions(db(), async () => {});
    expect(await factor.complete({ code: totp(uri), headers })).toMatchObject({ outcome: 'over' });
  });

  it('can be removed with only the password, and not without it', async () => {
    const { email, headers } = await withApp();
    expect(await factor.remove({ password: 'wrong', headers })).toEqual({ outcome: 'wrong' });
    expect((await password(email)).outcome).toBe('second step');
    expect((await factor.remove({ password: PASSWORD, headers })).outcome).toBe('removed');
    expect((await password(email)).outcome).toBe('signed in');
    expect(await db().twoFactor.count({ where: { user: { email } } })).toBe(0);
    expect(await isSignedIn(headers)).toBe(true);
  });

  it('is removed with all passkeys, or not at all while the database fails', async () => {
    const { email, headers } = await withApp();
    const { id: userId } = await db().user.findUniqueOrThrow({ where: { email } });
    const made = { publicKey: '', counter: 0, deviceType: 'singleDevice', backedUp: false };
    await db().passkey.create({ data: { id: 'pas_kept', userId, credentialID: 'kept', ...made } });
    const left = async () => {
      const where = { userId };
      return [await db().twoFactor.count({ where }), await db().passkey.count({ where })];
    };
    for (const table of ['two_factor', 'passkey']) {
      await failOn(db(), `DELETE ON ${table}`, async () => {
        await expect(factor.remove({ password: PASSWORD, headers })).rejects.toThrow(FAILURE);
      });
      expect(await left()).toEqual([1, 1]);
      expect((await password(email)).outcome).toBe('second step');
    }
    expect(await factor.remove({ password: PASSWORD, headers })).toEqual({ outcome: 'removed' });
    expect(await left()).toEqual([0, 0]);
  });
});

describe('the trail of an account', () => {
  /** The second step, and the events that it records. */
  function audited() {
    const events: AccountEvent[] = [];
    const step = auditedSecondFactor(factor, async (event) => void events.push(event));
    const come = (code: string, headers: Headers) => {
      const from = new Headers(headers);
      from.set(CLIENT_ADDRESS_HEADER, '203.0.113.7');
      return step.complete({ code, headers: from });
    };
    return { events, come };
  }
  const eventOf = async (email: string, action: string, details?: object) => {
    const { id: userId } = await db().user.findUniqueOrThrow({ where: { email } });
    return { action, account: { userId }, address: '203.0.113.7', ...(details ? { details } : {}) };
  };
  const FAILED = 'account.signInFailed';

  it('has each second step that signs in, by the app or a recovery code', async () => {
    const { email, uri, recoveryCodes } = await withApp();
    const { events, come } = audited();
    for (const code of [totp(uri), recoveryCodes[0] ?? ''])
      expect(await come(code, (await password(email)).headers)).toMatchObject({ outcome: 'signed in' });
    expect(events).toEqual([
      await eventOf(email, 'account.signIn', { with: 'password and app' }),
      await eventOf(email, 'account.useBackupCode'),
      await eventOf(email, 'account.signIn', { with: 'password and recovery code' }),
    ]);
  });

  it('has each wrong code after a right password, even one that was used before, however the cookie is written', async () => {
    const { email, uri } = await withApp();
    const { events, come } = audited();
    const { headers } = await password(email);
    const quoted = new Headers({ cookie: `${headers.get('cookie')}`.replace(/=([^;]+)/g, '="$1"') });
    await come(totp(uri, 0), headers);
    await come('aaaaa-bbbbb', quoted);
    const code = totp(uri);
    await factor.complete({ code, headers: (await password(email)).headers });
    await come(code, headers);
    expect(events).toEqual([
      await eventOf(email, FAILED, { with: 'password and app' }),
      await eventOf(email, FAILED, { with: 'password and recovery code' }),
      await eventOf(email, FAILED, { with: 'password and app' }),
    ]);
  });

  it('says once for each sign-in that it met a locked account, and says nothing of a sign-in that is over', async () => {
    const { email, uri } = await withApp();
    await lock(email, uri);
    const { events, come } = audited();
    const [first, second] = [(await password(email)).headers, (await password(email)).headers];
    for (const headers of [first, first, second, new Headers()]) await come(totp(uri), headers);
    const event = await eventOf(email, FAILED, { with: 'password and app', locked: true });
    expect(events).toEqual([event, event]);
  });
});
