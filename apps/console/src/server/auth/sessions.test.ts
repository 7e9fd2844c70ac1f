import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newOrgId, newPageKeyId, newUserId, randomBase62 } from '@tidegate/contracts';
import { cheapHashing, testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { type Auth, createAuth } from './auth.ts';
import { createSessions, endPasswordSessions, isUse, type UserSessions } from './sessions.ts';

const PASSWORD = 'a-long-enough-password';
const HASH = cheapHashing.hash(PASSWORD);
const IDLE_MS = 8 * 3_600_000;

const db = ownTestDb();
let auth: Auth;
let sessions: UserSessions;
const clock = testClock();

beforeAll(async () => {
  const consoleUrl = 'https://console.example';
  auth = createAuth({ db: db(), consoleUrl, secret: 'x'.repeat(32), oidc: null, hashing: cheapHashing });
  sessions = createSessions({ db: db(), auth, idleTimeoutMs: IDLE_MS, now: clock.now });
});
beforeEach(() => clock.set(Date.now()));

async function account(): Promise<{ userId: string; email: string }> {
  const userId = newUserId();
  const email = `${userId.toLowerCase()}@example.com`;
  await db().user.create({ data: { id: userId, email, name: 'Ada' } });
  const password = await HASH;
  const row = { id: `acc_${randomBase62(8)}`, accountId: userId, providerId: 'credential', userId, password };
  await db().account.create({ data: row });
  return { userId, email };
}

/** Signs in with a browser, and resolves to the headers of its requests. */
async function browser(email: string, userAgent: string): Promise<Headers> {
  const headers = new Headers({ 'user-agent': userAgent });
  const body = { email, password: PASSWORD };
  const response = await auth.api.signInEmail({ body, headers, asResponse: true });
  return new Headers({ cookie: response.headers.getSetCookie()[0]?.split(';')[0] ?? '' });
}

describe('a session', () => {
  it('continues while it is used, and ends after the idle time without use', async () => {
    const { email, userId } = await account();
    const headers = await browser(email, 'laptop');
    const { id } = (await sessions.current(headers, false)) ?? {};
    for (let i = 0; i < 3; i++) {
      clock.advance(IDLE_MS - 60_000);
      expect(await sessions.current(headers, true)).toMatchObject({ id, user: { id: userId, email } });
    }
    clock.advance(IDLE_MS - 60_000);
    expect(await sessions.current(headers, false)).not.toBeNull();
    clock.advance(60_000);
    expect(await sessions.list(userId)).toEqual([]);
    expect(await sessions.current(headers, true)).toBeNull();
    expect(await db().session.count({ where: { userId } })).toBe(0);
  });

  it('is not waited for while the database hangs, and is found once it answers', async () => {
    const { email } = await account();
    const headers = await browser(email, 'laptop');
    const idle = { db: db(), auth, idleTimeoutMs: IDLE_MS, now: clock.now };
    const impatient = createSessions({ ...idle, waitMs: 50 });
    await db().$transaction(async (tx) => {
      await tx.$executeRaw`LOCK TABLE session IN ACCESS EXCLUSIVE MODE`;
      await expect(impatient.current(headers, true)).rejects.toThrow('in time');
    });
    expect(await sessions.current(headers, true)).not.toBeNull();
  });

  it('is listed with its browser and its last use, and can be ended from another one', async () => {
    const { email, userId } = await account();
    const [laptop, phone] = [await browser(email, 'laptop'), await browser(email, 'phone')];
    clock.advance(120_000);
    const { id } = (await sessions.current(laptop, true)) ?? { id: '' };
    const listed = await sessions.list(userId);
    expect(listed.map(({ userAgent }) => userAgent)).toEqual(['laptop', 'phone']);
    expect(listed[0]).toMatchObject({ id, lastSeenAt: new Date(clock.now()) });
    expect(await sessions.end(userId, listed[1]?.id ?? '')).toBe(true);
    expect(await sessions.end(userId, listed[1]?.id ?? '')).toBe(false);
    expect(await sessions.current(phone, true)).toBeNull();
    expect(await sessions.current(laptop, true)).not.toBeNull();
  });

  it.each(['ses_\u0000', '', 'x'.repeat(3_000), null, undefined, {}, { not: '' }, ['ses_x']])(
    'is not ended by the id %j',
    async (id) => {
      const ada = await account();
      const headers = await browser(ada.email, 'laptop');
      expect(await sessions.end(ada.userId, id)).toBe(false);
      expect(await sessions.current(headers, true)).not.toBeNull();
    },
  );

  it('cannot be ended by anyone else', async () => {
    const [ada, eve] = [await account(), await account()];
    const headers = await browser(ada.email, 'laptop');
    const [session] = await sessions.list(ada.userId);
    expect(await sessions.end(eve.userId, session?.id ?? '')).toBe(false);
    expect(await sessions.current(headers, true)).not.toBeNull();
  });
});

/** The key of a page that the user has open. */
async function pageKey(userId: string): Promise<void> {
  const { id: planId } = await db().plan.findFirstOrThrow();
  const id = newOrgId();
  await db().org.create({ data: { id, slug: id.toLowerCase(), name: 'Acme', planId } });
  const limits = { allModels: true, requestsPerMinute: 1, requestsAtOnce: 1 };
  const value = { prefix: 'ti_x', hash: Buffer.alloc(32, id) };
  await db().apiKey.create({
    data: { id: newPageKeyId(), orgId: id, name: 'Try it', ...value, pageUserId: userId, ...limits },
  });
}

it('turning passwords off ends the sessions and page keys of whoever has a password, and of nobody else', async () => {
  const [ada, bob, eve] = [await account(), await account(), await account()];
  await db().account.updateMany({ where: { userId: eve.userId }, data: { providerId: 'oidc' } });
  for (const { userId } of [ada, eve]) await pageKey(userId);
  const headers = await browser(bob.email, 'laptop');
  const ended: string[] = [];
  await endPasswordSessions(db(), async (userId) => void ended.push(userId));
  expect(ended).toEqual([ada.userId]);
  expect(await sessions.current(headers, true)).toBeNull();
});

describe('a request', () => {
  it.each([
    ['that opens a page', { 'sec-fetch-dest': 'document' }, true],
    ['that runs an action', { 'sec-fetch-dest': 'empty', 'next-action': 'a1b2' }, true],
    ['of a page that refreshes itself', { 'sec-fetch-dest': 'empty', rsc: '1' }, false],
  ])('%s counts as a use of the session: %j, %s', (_what, headers, used) => {
    expect(isUse(new Headers(headers))).toBe(used);
  });
});
