import { beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, testClock, untilOneWaitsForALock, waitingForLocks } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, SESSION_IDLE_MS, value } from '../fixture.ts';

type Owner = Awaited<ReturnType<Fixture['user']>>;

const HOUR_MS = 3_600_000;

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();

beforeEach(() => {
  clock.set(Date.UTC(2026, 10, 21, 12));
  fixture = createFixture(db(), clock.now);
});

const listed = async (org: string) => value(await fixture.control.listKeys(OPERATOR, { org }));
const pageKey = async (owner: Owner, org: string) => value(await fixture.pageKey(owner, org)).id;

/** Two owners of an organization. The tests end the page keys of `going`. */
async function owners(name: string) {
  const org = await fixture.org(name);
  return { org, going: await fixture.user(org, 'owner'), staying: await fixture.user(org, 'owner') };
}

/** Gives a user everything that can be reset. */
async function equip({ userId }: Owner): Promise<void> {
  const id = userId;
  await db().account.create({ data: { id, accountId: id, providerId: 'credential', userId } });
  await db().account.create({ data: { id: `o${id}`, accountId: id, providerId: 'oidc', userId } });
  await db().twoFactor.create({ data: { id, userId, secret: '', backupCodes: '' } });
  await db().user.update({ where: { id }, data: { twoFactorEnabled: true } });
}

describe('every page key of a person', () => {
  it.each<[string, string, (owner: Owner) => Promise<unknown>]>([
    ['one of their sessions ends', 'owner', (owner) => fixture.control.endPageKeys(owner)],
    ['an operator sets the password', 'ctl', ({ email }) => fixture.control.setPassword(OPERATOR, { email })],
    [
      'an operator removes the second factor',
      'ctl',
      ({ email }) => fixture.control.resetTwoFactor(OPERATOR, { email }),
    ],
    [
      'an operator removes the identity',
      'ctl',
      ({ email }) => fixture.control.resetIdentity(OPERATOR, { email }),
    ],
  ])('is refused and off the list immediately when %s, and no other', async (how, who, end) => {
    const { org, going, staying } = await owners(`When ${how}`);
    const elsewhere = await fixture.org(`Elsewhere when ${how}`);
    value(await fixture.control.addMember(OPERATOR, { org: elsewhere, email: going.email, role: 'owner' }));
    await equip(going);
    const kept = [
      value(await fixture.control.createKey(going, { org, name: 'usual' })).id,
      await pageKey(staying, org),
    ];
    const ended = [await pageKey(going, org), await pageKey(going, elsewhere)];
    expect(await end(going)).toMatchObject({ ok: true });
    expect([...fixture.limiter.revoked].sort()).toEqual(ended.sort());
    expect((await listed(org)).map(({ id, state }) => [id, state]).sort()).toEqual(
      kept.map((id) => [id, 'Active']).sort(),
    );
    expect(await listed(elsewhere)).toEqual([]);
    const events = await db().auditEvent.findMany({ where: { target: { in: ended }, action: 'key.revoke' } });
    const actor = who === 'owner' ? going.email : who;
    expect(events.map((event) => [event.target, event.actor]).sort()).toEqual(
      ended.map((id) => [id, actor]).sort(),
    );
  });

  it('is revoked although no limiter can be reached, and the answer says what is left', async () => {
    const { org, going } = await owners('Told later');
    const id = await pageKey(going, org);
    fixture.limiter.away = true;
    const set = await fixture.control.setPassword(OPERATOR, { email: going.email });
    expect(set).toMatchObject({
      ok: true,
      value: { password: expect.any(String) },
      notInForce: expect.stringContaining(`${going.email} had a Try it key.`),
    });
    expect((await listed(org)).map((key) => [key.id, key.state])).toEqual([[id, 'Revoked']]);
    fixture.limiter.away = false;
    expect(await fixture.control.endPageKeys(going)).not.toHaveProperty('notInForce');
    expect(await listed(org)).toEqual([]);
  });
});

describe('an organization that begins to require two-factor', () => {
  it('ends the page keys of those to whom it closes, and no others', async () => {
    const { org, going, staying } = await owners('Closes');
    await equip(staying);
    const [id, kept] = [await pageKey(going, org), await pageKey(staying, org)];
    const elsewhere = await fixture.org('Stays open');
    value(await fixture.control.addMember(OPERATOR, { org: elsewhere, email: going.email, role: 'owner' }));
    const there = await pageKey(going, elsewhere);
    await db().account.create({
      data: { id, accountId: id, providerId: 'credential', userId: going.userId },
    });
    fixture.limiter.away = true;
    const close = () => fixture.control.requireTwoFactor(staying, { org, required: true });
    expect(await close()).toMatchObject({
      ok: true,
      value: { required: true },
      notInForce: expect.stringContaining(`${going.email} had a Try it key.`),
    });
    fixture.limiter.away = false;
    // Safe to repeat.
    expect(await close()).toEqual({ ok: true, value: { required: true } });
    expect(fixture.limiter.revoked).toEqual([id]);
    expect((await listed(org)).map((key) => [key.id, key.state])).toEqual([[kept, 'Active']]);
    expect((await listed(elsewhere)).map((key) => [key.id, key.state])).toEqual([[there, 'Active']]);
    expect(refusal(await fixture.pageKey(going, org)).message).toContain('requires a second factor');
  });
});

describe('a page key that is being created', () => {
  it.each<[string, (own: string, other: string) => string]>([
    ['has ended', () => 'ses_ended'],
    ['is of someone else', (_own, other) => other],
  ])('is not created in a session that %s', async (how, of) => {
    const { org, going, staying } = await owners(`Session ${how}`);
    const session = of(await fixture.session(going), await fixture.session(staying));
    const made = await fixture.control.createPageKey(going, { org, session });
    expect(refusal(made)).toEqual({
      code: 'conflict',
      message: 'Your session has ended. Sign in again.',
    });
    expect(await listed(org)).toEqual([]);
  });

  it('is not created if its session ends meanwhile', async () => {
    const { org, going } = await owners('Ends meanwhile');
    const session = await fixture.session(going);
    const { making } = await db().$transaction(async (tx) => {
      await tx.$queryRaw`SELECT id FROM "user" WHERE id = ${going.userId} FOR NO KEY UPDATE`;
      const made = fixture.control.createPageKey(going, { org, session });
      await untilOneWaitsForALock(db());
      await tx.session.delete({ where: { id: session } });
      return { making: made };
    });
    expect(refusal(await making).code).toBe('conflict');
    expect(await listed(org)).toEqual([]);
  });

  it('is ended by a session that ends while it is created', async () => {
    const { org, going } = await owners('Made while ending');
    const session = await fixture.session(going);
    const { making, ending } = await db().$transaction(async (tx) => {
      await tx.$executeRaw`LOCK TABLE audit_event IN SHARE MODE`;
      // The session still existed, and the key is written. Only its event is not.
      const made = fixture.control.createPageKey(going, { org, session });
      await untilOneWaitsForALock(db());
      await db().session.delete({ where: { id: session } });
      const ended = fixture.control.endPageKeys(going);
      await eventually(async () => (await waitingForLocks(db())) === 2);
      return { making: made, ending: ended };
    });
    expect((await making).ok).toBe(true);
    value(await ending);
    expect(await listed(org)).toEqual([]);
  });

  it.each([
    ['is not used any more', SESSION_IDLE_MS - HOUR_MS / 2],
    ['is over', 7 * 24 * HOUR_MS - HOUR_MS / 2],
  ])('lasts no longer than a session that %s', async (how, agedMs) => {
    const { org, going } = await owners(`Session that ${how}`);
    const session = await fixture.session(going);
    clock.advance(agedMs);
    if (how === 'is over')
      await db().session.update({ where: { id: session }, data: { lastSeenAt: new Date(clock.now()) } });
    value(await fixture.control.createPageKey(going, { org, session }));
    const expiresAt = new Date(clock.now() + HOUR_MS / 2).toISOString();
    expect((await listed(org))[0]).toMatchObject({ state: 'Active', expiresAt });
  });
});
