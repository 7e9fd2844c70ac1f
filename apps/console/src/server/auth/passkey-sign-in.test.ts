import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/browser';
import { newUserId } from '@tidegate/contracts';
import type { AccountEvent } from '@tidegate/control';
import { untilOneWaitsForALock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { hashPassword } from 'better-auth/crypto';
import { FAILURE, failOn } from '../../testing/fail-on.ts';
import { CLIENT_ADDRESS_HEADER } from '../http/names.ts';
import { auditedPasskeys } from './audited.ts';
import { type Auth, createAuth } from './auth.ts';
import { createDevices } from './devices.ts';
import { createPasskeys, type PasskeySignIn, type Passkeys } from './passkeys.ts';

const SITE = 'https://console.example';
const ADDRESS = '203.0.113.7';
const USER_PRESENT = 1;
const USER_VERIFIED = 4;
const WITH_CREDENTIAL = 64;

const db = ownTestDb();
let auth: Auth;
let passkeys: Passkeys;
let events: AccountEvent[];

beforeAll(async () => {
  auth = createAuth({ db: db(), consoleUrl: SITE, secret: 'x'.repeat(32), oidc: null });
  const devices = createDevices({ secret: 'x'.repeat(32), consoleUrl: SITE, now: Date.now });
  const record = async (event: AccountEvent) => void events.push(event);
  passkeys = auditedPasskeys(createPasskeys({ db: db(), auth, devices }), record);
});

/** A security key with one passkey of an account here. */
interface Device {
  readonly userId: string;
  readonly id: string;
  readonly privateKey: KeyObject;
}

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest();

/** A new key, and its public half as COSE: a key for ES256 on the curve P-256, with x and y. */
function newKey(): { cose: Buffer; privateKey: KeyObject } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const [head, between] = [Buffer.from('a5010203262001215820', 'hex'), Buffer.from('225820', 'hex')];
  const cose = Buffer.concat([head, Buffer.from(x, 'base64url'), between, Buffer.from(y, 'base64url')]);
  return { cose, privateKey };
}

async function registered(): Promise<Device> {
  const [userId, id] = [newUserId(), base64url(randomBytes(16))];
  const { cose, privateKey } = newKey();
  await db().user.create({ data: { id: userId, email: `${userId.toLowerCase()}@example.com`, name: 'Ada' } });
  const kept = {
    publicKey: cose.toString('base64'),
    counter: 0,
    deviceType: 'singleDevice',
    backedUp: false,
  };
  await db().passkey.create({ data: { id: `pk_${id}`, userId, credentialID: id, ...kept } });
  return { userId, id, privateKey };
}

/** What a browser answers to a challenge. */
function answer(
  { id, privateKey }: Device,
  challenge: string,
  { flags, counter }: { readonly flags: number; readonly counter: number },
): AuthenticationResponseJSON {
  const client = JSON.stringify({ type: 'webauthn.get', challenge, origin: SITE, crossOrigin: false });
  const count = Buffer.alloc(4);
  count.writeUInt32BE(counter);
  const data = Buffer.concat([sha256(new URL(SITE).hostname), Buffer.from([flags]), count]);
  const signature = sign('sha256', Buffer.concat([data, sha256(client)]), privateKey);
  const response = {
    clientDataJSON: base64url(Buffer.from(client)),
    authenticatorData: base64url(data),
    signature: base64url(signature),
  };
  return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response };
}

/** What a browser answers to the offer to create a passkey. */
function made(challenge: string): RegistrationResponseJSON {
  const id = randomBytes(16);
  const client = JSON.stringify({ type: 'webauthn.create', challenge, origin: SITE, crossOrigin: false });
  const flags = USER_PRESENT | USER_VERIFIED | WITH_CREDENTIAL;
  const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, newKey().cose]);
  const rpId = sha256(new URL(SITE).hostname);
  const data = Buffer.concat([rpId, Buffer.from([flags, 0, 0, 0, 0]), credential]);
  // CBOR: a map of fmt, attStmt and authData, without an attestation.
  const head = Buffer.concat([
    Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex'),
    Buffer.from([0x58, data.length]),
  ]);
  const response = {
    clientDataJSON: base64url(Buffer.from(client)),
    attestationObject: base64url(Buffer.concat([head, data])),
  };
  const text = base64url(id);
  return { id: text, rawId: text, type: 'public-key', clientExtensionResults: {}, response };
}

/** Signs in with the device, after a challenge. Resolves to the outcome, and what was recorded. */
async function attempt(
  device: Device,
  { flags = USER_PRESENT | USER_VERIFIED, counter = 0, withCookie = true } = {},
): Promise<{ step: PasskeySignIn; recorded: AccountEvent[] }> {
  const { options, headers } = await passkeys.challenge(new Headers());
  const cookie = headers.getSetCookie().map((one) => one.split(';')[0]);
  const own = new Headers({ [CLIENT_ADDRESS_HEADER]: ADDRESS });
  if (withCookie) own.set('cookie', cookie.join('; '));
  events = [];
  const given = answer(device, options.challenge, { flags, counter });
  const step = await passkeys.signIn({ answer: given, headers: own });
  return { step, recorded: events };
}

/** What a browser sends after an answer. */
const after = (headers: Headers): Headers => {
  const cookies = headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  return new Headers({ cookie: cookies.join('; ') });
};

const event = (action: AccountEvent['action'], { userId }: Device): AccountEvent => ({
  action,
  account: { userId },
  address: ADDRESS,
  details: { with: 'passkey' },
});

describe('signing in with a passkey', () => {
  it('is recorded', async () => {
    const device = await registered();
    const { step, recorded } = await attempt(device);
    expect(step).toMatchObject({ outcome: 'signed in', userId: device.userId });
    expect(recorded).toEqual([event('account.signIn', device)]);
  });

  it("completes what the console left undone if it ended right after storing an account's first passkey", async () => {
    const device = await registered();
    const { userId } = device;
    const expiresAt = new Date(Date.now() + 60_000);
    await db().session.create({ data: { id: userId, token: userId, userId, expiresAt } });
    expect((await attempt(device)).step.outcome).toBe('signed in');
    const user = await db().user.findUniqueOrThrow({ where: { id: userId }, include: { sessions: true } });
    expect(user.twoFactorEnabled).toBe(true);
    expect(user.sessions.map(({ id }) => id)).not.toContain(userId);
    expect(user.sessions).toHaveLength(1);
    await attempt(device);
    expect(await db().session.count({ where: { userId } })).toBe(2);
  });

  it('signs nobody in if the passkeys are removed meanwhile, and leaves two-factor off', async () => {
    const device = await registered();
    const { userId } = device;
    const { signing } = await db().$transaction(
      async (tx) => {
        await tx.$queryRaw`SELECT id FROM "user" WHERE id = ${userId} FOR NO KEY UPDATE`;
        const signing = attempt(device);
        await untilOneWaitsForALock(db());
        await tx.passkey.deleteMany({ where: { userId } });
        return { signing };
      },
      { timeout: 60_000 },
    );
    expect((await signing).step.outcome).toBe('wrong');
    const user = await db().user.findUniqueOrThrow({ where: { id: userId }, include: { sessions: true } });
    expect([user.twoFactorEnabled, user.sessions]).toEqual([false, []]);
  });

  it('works up to the highest counter of a security key, and not with a counter that was used', async () => {
    const device = await registered();
    for (const counter of [2 ** 31, 2 ** 32 - 1])
      expect((await attempt(device, { counter })).step).toMatchObject({ outcome: 'signed in' });
    expect((await attempt(device, { counter: 2 ** 32 - 1 })).step.outcome).toBe('wrong');
  });

  it('that fails is recorded for the account of the passkey: signed by another key, or without verifying the user', async () => {
    const device = await registered();
    const { privateKey } = await registered();
    const forged = await attempt({ ...device, privateKey });
    const unchecked = await attempt(device, { flags: USER_PRESENT });
    for (const { step, recorded } of [forged, unchecked]) {
      expect(step).toEqual({ outcome: 'wrong', userId: device.userId });
      expect(recorded).toEqual([event('account.signInFailed', device)]);
    }
    expect(await db().session.count({ where: { userId: device.userId } })).toBe(0);
  });

  it('is not recorded for an unknown passkey, nor without a challenge, since it is not checked then', async () => {
    const device = await registered();
    const unknown = await attempt({ ...device, id: base64url(randomBytes(16)) });
    const late = await attempt(device, { withCookie: false });
    for (const { step, recorded } of [unknown, late]) {
      expect(step).toEqual({ outcome: 'wrong', userId: null });
      expect(recorded).toEqual([]);
    }
  });

  it('is neither called wrong nor recorded when the database fails', async () => {
    const device = await registered();
    for (const statement of ['DELETE ON verification', 'UPDATE ON passkey', 'INSERT ON session'])
      await failOn(db(), statement, async () => {
        await expect(attempt(device)).rejects.toThrow(FAILURE);
        expect(events).toEqual([]);
      });
  });

  it('refuses whatever else a browser may send', async () => {
    const { headers } = await passkeys.challenge(new Headers());
    const own = after(headers);
    events = [];
    for (const sent of [null, {}, { id: null }, { id: 5 }, { id: '\0' }, { id: 'a' }, { id: { not: '' } }]) {
      const answer = sent as unknown as AuthenticationResponseJSON;
      expect(await passkeys.signIn({ answer, headers: own })).toEqual({ outcome: 'wrong', userId: null });
    }
    expect(events).toEqual([]);
  });
});

describe('creating a passkey', () => {
  it('tells a failure of the database from a wrong answer', async () => {
    const { userId } = await registered();
    const { email } = await db().user.findUniqueOrThrow({ where: { id: userId } });
    const account = { id: `acc_${userId}`, accountId: userId, providerId: 'credential', userId };
    await db().account.create({
      data: { ...account, password: await hashPassword('a-long-enough-password') },
    });
    const app = { id: userId, userId, secret: '', backupCodes: '', verified: false };
    await db().twoFactor.create({ data: app });
    const body = { email, password: 'a-long-enough-password' };
    const session = after((await auth.api.signInEmail({ body, asResponse: true })).headers);
    const add = async (change?: Partial<RegistrationResponseJSON>) => {
      const offer = await passkeys.offer(session);
      if (!offer) throw new Error('no offer');
      const headers = new Headers({
        cookie: `${session.get('cookie')}; ${after(offer.headers).get('cookie')}`,
      });
      const answer = { ...made(offer.options.challenge), ...change };
      return passkeys.add({ answer, place: 'Firefox', headers });
    };
    for (const statement of ['DELETE ON verification', 'INSERT ON passkey'])
      await failOn(db(), statement, async () => {
        await expect(add()).rejects.toThrow(FAILURE);
      });
    expect(await add({ rawId: 'else' })).toBe('failed');
    expect(await add()).toBe('added');
  });
});
