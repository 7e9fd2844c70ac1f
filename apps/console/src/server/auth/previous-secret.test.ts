import { beforeAll, describe, expect, it } from '@jest/globals';
import { newUserId, randomBase62 } from '@tidegate/contracts';
import { ownTestDb } from '@tidegate/testing/hooks';
import { hashPassword, symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import { type Auth, createAuth } from './auth.ts';
import { createDevices, type Devices } from './devices.ts';
import { createSignIn } from './sign-in.ts';

const PASSWORD = 'a-long-enough-password';
const HASH = hashPassword(PASSWORD);
const [OLD, NEW, OTHER] = ['o', 'n', 'x'].map((letter) => letter.repeat(32)) as [string, string, string];

const db = ownTestDb();
/** The cookie of a session that began under the old secret. */
let cookie: string;
const email = 'ada@example.com';

const devices = createDevices({ secret: OLD, consoleUrl: 'https://console.example', now: Date.now });
const authWith = (secret: string, previousSecret?: string): Auth =>
  createAuth({ db: db(), consoleUrl: 'https://console.example', secret, previousSecret, oidc: null });

beforeAll(async () => {
  const id = newUserId();
  await db().user.create({ data: { id, email, name: 'Ada' } });
  const row = { id: `acc_${randomBase62(8)}`, accountId: id, providerId: 'credential', userId: id };
  await db().account.create({ data: { ...row, password: await HASH } });
  const signIn = createSignIn({ db: db(), auth: authWith(OLD), devices, now: Date.now });
  const result = await signIn.withPassword({
    email,
    password: PASSWORD,
    address: '',
    headers: new Headers(),
  });
  if (result.outcome !== 'signed in') throw new Error(result.outcome);
  cookie = result.headers.getSetCookie()[0]?.split(';')[0] ?? '';
});

const signedInAs = async (auth: Auth, header: string) =>
  (await auth.api.getSession({ headers: new Headers({ cookie: header }) }))?.user.email;

describe('a session that began under the previous secret', () => {
  it('continues, whichever other cookies are sent with its own', async () => {
    const auth = authWith(NEW, OLD);
    expect(await signedInAs(auth, cookie)).toBe(email);
    expect(await signedInAs(auth, `a=b; ${cookie};c=%; tidegate.x=1.2`)).toBe(email);
  });

  it('is found without a stall in cookies that are mostly blank', async () => {
    const auth = authWith(NEW, OLD);
    const before = process.cpuUsage();
    for (let i = 0; i < 8; i++)
      expect(await signedInAs(auth, `a=b;${' '.repeat(15_000)}x; ${cookie}`)).toBe(email);
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
  });

  it('ends with the previous secret', async () => {
    expect(await signedInAs(authWith(NEW), cookie)).toBeUndefined();
    expect(await signedInAs(authWith(NEW, OTHER), cookie)).toBeUndefined();
  });

  it('can be signed out', async () => {
    const auth = authWith(NEW, OLD);
    const before = await db().session.count();
    const signIn = createSignIn({ db: db(), auth: authWith(OLD), devices, now: Date.now });
    const who = { email, password: PASSWORD, address: '', headers: new Headers() };
    const result = await signIn.withPassword(who);
    if (result.outcome !== 'signed in') throw new Error(result.outcome);
    const own = result.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    await auth.api.signOut({ headers: new Headers({ cookie: own }) });
    expect(await db().session.count()).toBe(before);
  });

  it('is no session if anyone changed its cookie', async () => {
    const changed = cookie.replace(/=(.)/, (_all, first) => `=${first === 'a' ? 'b' : 'a'}`);
    expect(await signedInAs(authWith(NEW, OLD), changed)).toBeUndefined();
  });
});

it('a browser that signed in under the previous secret stays known, and is known by the new one from then on', () => {
  const consoleUrl = 'https://console.example';
  const devicesWith = (secret: string, previousSecret?: string) =>
    createDevices({ secret, previousSecret, consoleUrl, now: Date.now });
  const owner = { id: newUserId(), email };
  const browserAfter = (signIn: Devices, browser: Headers) => {
    const [cookie = ''] = signIn.remember(new Response(), browser, owner, 'password').getSetCookie();
    return new Headers({ cookie: cookie.split(';')[0] ?? '' });
  };
  const old = browserAfter(devices, new Headers());
  const device = devices.known(old, email);
  expect(device?.id).toMatch(/^\w{20}$/);
  const both = devicesWith(NEW, OLD);
  expect(both.known(old, email)).toEqual(device);
  expect(both.known(old, 'bob@example.com')).toBeNull();
  expect(devicesWith(NEW).known(browserAfter(both, old), email)).toEqual(device);
  for (const without of [devicesWith(NEW), devicesWith(NEW, OTHER)])
    expect(without.known(old, email)).toBeNull();
});

it('what the auth library encrypted under the previous secret can still be decrypted, and new values need only the new one', async () => {
  const key = async (auth: Auth) => (await auth.$context).secretConfig;
  const old = await symmetricEncrypt({ key: await key(authWith(OLD)), data: 'a' });
  const [both, fresh] = [await key(authWith(NEW, OLD)), await key(authWith(NEW))];
  expect(await symmetricDecrypt({ key: both, data: old })).toBe('a');
  const made = await symmetricEncrypt({ key: both, data: 'b' });
  expect(await symmetricDecrypt({ key: fresh, data: made })).toBe('b');
});
