import { beforeAll, describe, expect, it } from '@jest/globals';
import { newUserId } from '@tidegate/contracts';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createAuth } from './auth.ts';
import { createDevices } from './devices.ts';
import { canHavePasskeys } from './passkey-plugin.ts';
import { createPasskeys, type Passkeys } from './passkeys.ts';

const SITE = 'https://console.example';
const MADE = { publicKey: '', counter: 0, deviceType: 'singleDevice', backedUp: false };

const db = ownTestDb();
let passkeys: Passkeys;

beforeAll(async () => {
  const auth = createAuth({ db: db(), consoleUrl: SITE, secret: 'x'.repeat(32), oidc: null });
  const devices = createDevices({ secret: 'x'.repeat(32), consoleUrl: SITE, now: Date.now });
  passkeys = createPasskeys({ db: db(), auth, devices });
});

/** An account with this many passkeys. */
async function withPasskeys(count: number): Promise<{ userId: string; ids: string[] }> {
  const userId = newUserId();
  await db().user.create({ data: { id: userId, email: `${userId}@example.com`, name: 'Ada' } });
  const ids = Array.from({ length: count }, (_, i) => `${userId}-${i}`);
  const data = ids.map((id) => ({ id, userId, credentialID: id, name: 'Firefox on Linux', ...MADE }));
  await db().passkey.createMany({ data });
  return { userId, ids };
}

describe('passkeys', () => {
  it('can be created for host names, over https or on this machine, and not for IP addresses', () => {
    const sites = ['https://console.example', 'http://localhost:3000', 'http://console.example'];
    expect([...sites, 'https://10.0.0.1', 'https://[::1]:3000'].map(canHavePasskeys)).toEqual([
      ...[true, true, false],
      ...[false, false],
    ]);
  });

  it('can be removed except for the last, even by concurrent removals', async () => {
    const { userId, ids } = await withPasskeys(2);
    const outcomes = await Promise.all(ids.map((id) => passkeys.remove(userId, id)));
    expect(outcomes.sort()).toEqual(['last', 'removed']);
    expect(await passkeys.list(userId)).toMatchObject([{ name: 'Firefox on Linux' }]);
  });

  it('can all be removed beside an app that works, and not beside one that was never confirmed', async () => {
    const { userId, ids } = await withPasskeys(1);
    const app = { id: userId, userId, secret: '', backupCodes: '', verified: false };
    await db().twoFactor.create({ data: app });
    expect(await passkeys.remove(userId, ids[0] ?? '')).toBe('last');
    await db().twoFactor.update({ where: { userId }, data: { verified: true } });
    expect(await passkeys.remove(userId, ids[0] ?? '')).toBe('removed');
  });

  it('of others can be neither seen nor removed', async () => {
    const [ada, bob] = [await withPasskeys(2), await withPasskeys(2)];
    expect(await passkeys.remove(ada.userId, bob.ids[0] ?? '')).toBe('unknown');
    expect((await passkeys.list(ada.userId)).map(({ id }) => id).sort()).toEqual(ada.ids);
    expect(await passkeys.list(bob.userId)).toHaveLength(2);
  });

  it('are offered to nobody who is not signed in', async () => {
    expect(await passkeys.offer(new Headers())).toBeNull();
  });
});
