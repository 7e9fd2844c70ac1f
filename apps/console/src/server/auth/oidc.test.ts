import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newUserId, randomBase62 } from '@tidegate/contracts';
import type { AccountEvent } from '@tidegate/control';
import { cheapHashing, type IdentityProvider, startIdentityProvider, totp } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { FAILURE, failOn } from '../../testing/fail-on.ts';
import { CLIENT_ADDRESS_HEADER } from '../http/names.ts';
import { type Auth, createAuth } from './auth.ts';
import { createDevices } from './devices.ts';
import { digest } from './digest.ts';
import type { ProviderFailure } from './provider-failures.ts';
import { createSecondFactor } from './second-factor.ts';
import { createSignIn } from './sign-in.ts';

const SITE = 'https://console.example';
const ADDRESS = '203.0.113.7';
const DETAILS = { with: 'identity provider' };
const FAILED = { action: 'account.signInFailed', address: ADDRESS, details: DETAILS };

const db = ownTestDb();
let provider: IdentityProvider;
let auth: Auth;
const recorded: AccountEvent[] = [];
/** Whose page keys were ended. */
const pagesEnded: string[] = [];

/** Where the provider failed. */
const failures: ProviderFailure[] = [];

const authWith = (issuer: string, only = false): Auth => {
  const oidc = { issuer, clientId: 'id', clientSecret: 'secret', name: 'Example', only };
  const recordAccount = async (event: AccountEvent) => void recorded.push(event);
  const endPageKeys = async (userId: string) => void pagesEnded.push(userId);
  const onProviderFailure = (failure: ProviderFailure) => void failures.push(failure);
  const told = { recordAccount, endPageKeys, onProviderFailure };
  return createAuth({
    db: db(),
    consoleUrl: SITE,
    secret: 'x'.repeat(32),
    oidc,
    hashing: cheapHashing,
    ...told,
  });
};

beforeAll(async () => {
  provider = await startIdentityProvider();
  auth = authWith(provider.issuer);
});
afterAll(async () => {
  provider.close();
});

const cookiesOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');

/** Begins to sign in. Resolves to what a browser keeps, and what it takes to the provider. */
async function begin(from = auth): Promise<{ cookie: string; state: string }> {
  const start = await from.api.signInSocial({
    body: { provider: 'oidc', callbackURL: `${SITE}/`, errorCallbackURL: `${SITE}/sign-in` },
    asResponse: true,
  });
  const { url } = (await start.json()) as { url: string };
  return { cookie: cookiesOf(start), state: new URL(url).searchParams.get('state') ?? '' };
}

/** Comes back from the provider, to another console if one is given. */
const comeBack = (state: string, cookie: string, backTo = auth): Promise<Response> =>
  backTo.handler(
    new Request(`${SITE}/api/auth/callback/oidc?code=code&state=${encodeURIComponent(state)}`, {
      headers: { cookie, [CLIENT_ADDRESS_HEADER]: ADDRESS },
    }),
  );

/** Signs in at the provider and comes back, to another console if one is given. */
async function signInThere(backTo = auth): Promise<Response> {
  const { state, cookie } = await begin();
  return comeBack(state, cookie, backTo);
}

async function account(email: string): Promise<string> {
  const id = newUserId();
  await db().user.create({ data: { id, email, name: 'Ada' } });
  const password = await cheapHashing.hash('set-by-someone-else');
  const row = { id: `acc_${randomBase62(8)}`, accountId: id, providerId: 'credential', userId: id, password };
  await db().account.create({ data: row });
  return id;
}

async function passkeyOf(userId: string): Promise<void> {
  const made = { publicKey: '', counter: 0, deviceType: 'singleDevice', backedUp: false };
  await db().passkey.create({ data: { id: userId, userId, credentialID: userId, ...made } });
}

/** The event of an account that is linked. */
const linked = (userId: string, ...removed: string[]) => ({
  action: 'account.linkProvider',
  account: { userId },
  details: removed.length > 0 ? { removed } : {},
});

describe('sign-in through an identity provider', () => {
  it('opens a session for the account with the verified e-mail, and the first time removes a password and passkeys set before, and ends page keys', async () => {
    const id = await account('ada@example.com');
    await passkeyOf(id);
    provider.person = { sub: 'sub-1', email: 'ada@example.com', email_verified: true, name: 'Ada' };
    pagesEnded.length = 0;
    const back = await signInThere();
    expect(back.headers.get('location')).toBe(`${SITE}/`);
    const session = await auth.api.getSession({ headers: new Headers({ cookie: cookiesOf(back) }) });
    expect(session?.user.id).toBe(id);
    expect(await db().account.findMany({ where: { userId: id }, select: { providerId: true } })).toEqual([
      { providerId: 'oidc' },
    ]);
    expect(await db().passkey.count()).toBe(0);
    expect(pagesEnded).toEqual([id]);
    await signInThere();
    expect(pagesEnded).toEqual([id]);
  });

  it('removes the second factor of whoever set the password, and ends the second step that they have begun', async () => {
    const email = 'lise@example.com';
    const userId = await account(email);
    const devices = createDevices({ secret: 'x'.repeat(32), consoleUrl: SITE, now: Date.now });
    const factor = createSecondFactor({ db: db(), auth, devices, now: Date.now });
    const body = { email, password: 'set-by-someone-else' };
    const signIn = async () =>
      new Headers({ cookie: cookiesOf(await auth.api.signInEmail({ body, asResponse: true })) });
    const own = await signIn();
    const begun = await factor.begin({ password: body.password, headers: own });
    if (begun.outcome !== 'begun') throw new Error(begun.outcome);
    await factor.confirm({ code: totp(begun.uri), headers: own });
    const headers = await signIn();
    provider.person = { sub: 'sub-lise', email, email_verified: true, name: 'Lise' };
    recorded.length = 0;
    expect((await signInThere()).headers.get('location')).toBe(`${SITE}/`);
    const code = totp(begun.uri, Date.now() + 30_000);
    expect(await factor.complete({ code, headers })).toEqual({ outcome: 'over' });
    expect(await db().session.count({ where: { userId } })).toBe(1);
    expect(await db().verification.count({ where: { value: userId } })).toBe(0);
    const left = await db().user.findUnique({ where: { id: userId }, include: { twoFactor: true } });
    expect(left).toMatchObject({ twoFactorEnabled: false, twoFactor: null });
    expect(recorded[0]).toEqual(linked(userId, 'password', 'authenticator app', 'sessions'));
  });

  it('links no account that could not be cleared, and clears it the next time', async () => {
    const email = 'chien@example.com';
    const userId = await account(email);
    await passkeyOf(userId);
    provider.person = { sub: 'sub-chien', email, email_verified: true, name: 'Chien' };
    recorded.length = 0;
    await failOn(db(), 'DELETE ON passkey', async () => {
      await expect(signInThere()).rejects.toThrow(FAILURE);
    });
    expect(recorded).toEqual([]);
    expect(await db().session.count({ where: { userId } })).toBe(0);
    expect((await signInThere()).headers.get('location')).toBe(`${SITE}/`);
    const identities = await db().account.findMany({ where: { userId }, select: { providerId: true } });
    expect(identities).toEqual([{ providerId: 'oidc' }]);
    expect(await db().passkey.count({ where: { userId } })).toBe(0);
  });

  it('is recorded each time, and the first time so is the link to the account', async () => {
    const userId = await account('emmy@example.com');
    provider.person = { sub: 'sub-3', email: 'emmy@example.com', email_verified: true, name: 'Emmy' };
    recorded.length = 0;
    for (let i = 0; i < 2; i++) await signInThere();
    // A sign-in with a password is recorded by whoever checks it.
    await account('hedy@example.com');
    const body = { email: 'hedy@example.com', password: 'set-by-someone-else' };
    expect((await auth.api.signInEmail({ body, asResponse: true })).ok).toBe(true);
    const signedIn = { action: 'account.signIn', account: { userId }, address: ADDRESS, details: DETAILS };
    expect(recorded).toEqual([linked(userId, 'password'), signedIn, signedIn]);
  });

  it('records what it removed with the link, even if only the next sign-in links the account', async () => {
    const email = 'sofya@example.com';
    const userId = await account(email);
    await passkeyOf(userId);
    provider.person = { sub: 'sub-sofya', email, email_verified: true, name: 'Sofya' };
    recorded.length = 0;
    await failOn(db(), 'INSERT ON account', async () => {
      await expect(signInThere()).rejects.toThrow(FAILURE);
    });
    expect(recorded).toEqual([]);
    await signInThere();
    expect(recorded[0]).toEqual(linked(userId, 'password', 'passkeys'));
    // As an operator does so that another identity can be linked.
    await db().account.deleteMany({ where: { userId } });
    recorded.length = 0;
    await signInThere();
    expect(recorded[0]).toEqual(linked(userId));
  });

  it('records that it removed nothing of an account that nobody could sign in to', async () => {
    const [userId, email] = [newUserId(), 'maria@example.com'];
    await db().user.create({ data: { id: userId, email, name: 'Maria' } });
    await db().session.create({ data: { id: userId, token: userId, userId, expiresAt: new Date() } });
    const unconfirmed = { secret: '', backupCodes: '', verified: false };
    await db().twoFactor.create({ data: { id: userId, userId, ...unconfirmed } });
    provider.person = { sub: 'sub-maria', email, email_verified: true, name: 'Maria' };
    recorded.length = 0;
    await signInThere();
    expect(recorded[0]).toEqual(linked(userId));
    expect(await db().session.count({ where: { userId } })).toBe(1);
    expect(await db().twoFactor.count({ where: { userId } })).toBe(0);
  });

  it.each([
    ['has no account here, which leaves no trace', 'nobody@example.com', true],
    ['has not proven the e-mail, which is recorded', 'bob@example.com', false],
  ])('lets nobody in who %s', async (_who, email, verified) => {
    await account('bob@example.com').catch(() => {});
    provider.person = { sub: `sub-${email}`, email, email_verified: verified, name: 'X' };
    recorded.length = 0;
    const back = await signInThere();
    expect(back.headers.get('location')).toMatch(/\/sign-in\?error=(signup_disabled|account_not_linked)/);
    expect(cookiesOf(back)).not.toContain('session_token=');
    expect(await db().session.count({ where: { user: { email } } })).toBe(0);
    expect(recorded).toEqual(verified ? [] : [{ ...FAILED, account: { email } }]);
  });

  it('works once, in the browser in which it began, and anything else leads to the sign-in page', async () => {
    await account('rosa@example.com');
    provider.person = { sub: 'sub-rosa', email: 'rosa@example.com', email_verified: true, name: 'Rosa' };
    const [one, other] = [await begin(), await begin()];
    const refused = async (state: string, cookie: string) => {
      const back = await comeBack(state, cookie);
      expect(back.headers.get('location')).toMatch(`${SITE}/sign-in?error=state_mismatch`);
      expect(cookiesOf(back)).not.toContain('session_token=');
    };
    await refused(one.state, '');
    await refused(one.state, other.cookie);
    await refused('made-up', one.cookie);
    expect(cookiesOf(await comeBack(one.state, one.cookie))).toContain('session_token=');
    await refused(one.state, one.cookie);
  });

  it('links an account to one identity: a second one with the same e-mail does not find it', async () => {
    const id = await account('mary@example.com');
    const person = { email: 'mary@example.com', email_verified: true, name: 'Mary' };
    recorded.length = 0;
    const comeAs = async (sub: string) => {
      provider.person = { sub, ...person };
      return (await signInThere()).headers.get('location');
    };
    expect(await comeAs('first')).toBe(`${SITE}/`);
    expect(await comeAs('second')).toBe(`${SITE}/sign-in?error=unable_to_link_account`);
    expect(await comeAs('first')).toBe(`${SITE}/`);
    const identities = await db().account.findMany({ where: { userId: id }, select: { accountId: true } });
    expect(identities).toEqual([{ accountId: 'first' }]);
    const actions = ['account.linkProvider', 'account.signIn', FAILED.action, 'account.signIn'];
    expect(recorded.map(({ action }) => action)).toEqual(actions);
    expect(recorded[2]).toEqual({ ...FAILED, account: { email: 'mary@example.com' } });
    expect(await db().session.count({ where: { userId: id } })).toBe(2);
  });

  it('is recorded at most 30 times in 15 minutes when it is refused, so that nobody can fill a trail', async () => {
    const email = 'mileva@example.com';
    await account(email);
    provider.person = { sub: 'sub-mileva', email, email_verified: false, name: 'Mileva' };
    recorded.length = 0;
    await signInThere();
    const counted = { where: { key: `provider:${digest(email)}` }, data: { count: 28 } };
    expect(await db().signInAttempt.updateMany(counted)).toEqual({ count: 1 });
    for (let i = 0; i < 4; i++) await signInThere();
    expect(recorded).toHaveLength(3);
  });

  it("keeps none of the provider's tokens, neither at the first sign-in nor at the next", async () => {
    const id = await account('joan@example.com');
    provider.person = { sub: 'joan', email: 'joan@example.com', email_verified: true, name: 'Joan' };
    for (let i = 0; i < 2; i++) {
      expect((await signInThere()).headers.get('location')).toBe(`${SITE}/`);
      expect(await db().account.findMany({ where: { userId: id } })).toMatchObject([
        {
          providerId: 'oidc',
          accessToken: null,
          refreshToken: null,
          idToken: null,
          accessTokenExpiresAt: null,
          refreshTokenExpiresAt: null,
        },
      ]);
    }
  });

  it('may end at another console process than the one at which it began', async () => {
    await account('grace@example.com');
    provider.person = { sub: 'sub-2', email: 'grace@example.com', email_verified: true, name: 'Grace' };
    const back = await signInThere(authWith(provider.issuer));
    expect(back.headers.get('location')).toBe(`${SITE}/`);
    expect(cookiesOf(back)).toContain('session_token=');
  });

  it('is the only way in, if passwords are off', async () => {
    const email = 'barbara@example.com';
    await account(email);
    const only = authWith(provider.issuer, true);
    const devices = createDevices({ secret: 'x'.repeat(32), consoleUrl: SITE, now: Date.now });
    const signIn = createSignIn({ db: db(), auth: only, devices, now: Date.now });
    const attempt = { email, password: 'set-by-someone-else', address: '10.0.0.1', headers: new Headers() };
    expect(await signIn.withPassword(attempt)).toEqual({ outcome: 'wrong' });
    provider.person = { sub: 'sub-3', email, email_verified: true, name: 'Barbara' };
    expect(cookiesOf(await signInThere(only))).toContain('session_token=');
  });

  it('is refused while the provider hangs, and passwords and sessions do not wait for it', async () => {
    const silent = createServer(() => {});
    silent.listen(0, '127.0.0.1');
    silent.unref();
    await once(silent, 'listening');
    const asked = once(silent, 'request');
    try {
      const { port } = silent.address() as AddressInfo;
      const consoleAuth = authWith(`http://127.0.0.1:${port}`);
      const atProvider = consoleAuth.api.signInSocial({ body: { provider: 'oidc' }, asResponse: true });
      await asked;
      const email = 'katherine@example.com';
      await account(email);
      const body = { email, password: 'set-by-someone-else' };
      const signedIn = await consoleAuth.api.signInEmail({ body, asResponse: true });
      const headers = new Headers({ cookie: cookiesOf(signedIn) });
      expect((await consoleAuth.api.getSession({ headers }))?.user.email).toBe(email);
      silent.closeAllConnections();
      expect((await atProvider).ok).toBe(false);
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });
});

describe('an identity provider that fails is reported with the step, and nothing of its answer', () => {
  afterEach(() => {
    provider.failing = null;
  });

  it.each([
    ['/token', 400, { step: 'token', status: 400 }],
    ['/token', 503, { step: 'token', status: 503 }],
    ['/userinfo', 500, { step: 'user info' }],
  ])('if %s answers %i', async (path, status, failure) => {
    const { state, cookie } = await begin();
    provider.failing = { path, status };
    failures.length = 0;
    expect((await comeBack(state, cookie)).headers.get('location')).toContain('error=');
    expect(failures).toEqual([failure]);
  });

  it('if its addresses cannot be read', async () => {
    failures.length = 0;
    provider.failing = { path: '/.well-known/openid-configuration', status: 500 };
    const other = authWith(provider.issuer);
    await other.api.signInSocial({ body: { provider: 'oidc', callbackURL: `${SITE}/` }, asResponse: true });
    expect(failures).toEqual([{ step: 'discovery' }]);
  });

  it('if it is gone when the browser comes back', async () => {
    const gone = await startIdentityProvider();
    const other = authWith(gone.issuer);
    const { state, cookie } = await begin(other);
    gone.close();
    failures.length = 0;
    await comeBack(state, cookie, other);
    expect(failures).toEqual([{ step: 'token', code: 'ECONNREFUSED' }]);
  });

  it('but not for a sign-in that works, nor for one with an unknown state', async () => {
    failures.length = 0;
    await signInThere();
    await comeBack('unknown', '');
    expect(failures).toEqual([]);
  });
});
