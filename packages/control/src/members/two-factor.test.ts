import { beforeEach, describe, expect, it } from '@jest/globals';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import type { Actor } from '../access/access.ts';
import type { Role } from '../access/policy.ts';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

type User = Actor & { kind: 'user' };

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();

beforeEach(() => {
  fixture = createFixture(db(), clock.now);
});

/** Creates a user who signs in with a password. */
async function withPassword(org: string, role: Role): Promise<User> {
  const user = await fixture.user(org, role);
  await db().account.create({
    data: { id: `acc_${user.userId}`, accountId: user.userId, providerId: 'credential', userId: user.userId },
  });
  return user;
}

async function setUp({ userId }: User): Promise<void> {
  await db().twoFactor.create({ data: { id: `two_${userId}`, userId, secret: 's', backupCodes: 'c' } });
  await db().user.update({ where: { id: userId }, data: { twoFactorEnabled: true } });
}

async function createPasskey({ userId }: User): Promise<void> {
  const made = { publicKey: '', counter: 0, deviceType: 'singleDevice', backedUp: false };
  await db().passkey.create({ data: { id: `pas_${userId}`, userId, credentialID: userId, ...made } });
}

const memberships = async (user: User) => value(await fixture.control.listMemberships(user));

describe('an organization that requires two-factor', () => {
  it('is closed to members whom a password alone lets in, until they set it up', async () => {
    const org = await fixture.org('Closed');
    const owner = await withPassword(org, 'owner');
    await setUp(owner);
    const member = await withPassword(org, 'member');
    const fromProvider = await fixture.user(org, 'member');
    expect((await fixture.control.listKeys(member, { org })).ok).toBe(true);
    expect(value(await fixture.control.requireTwoFactor(owner, { org, required: true }))).toEqual({
      required: true,
    });
    for (const attempt of [
      fixture.control.listKeys(member, { org }),
      fixture.control.showUsage(member, { org }),
      fixture.control.tryModel(member, { org }),
      fixture.control.listMembers(member, {}),
    ])
      expect(refusal(await attempt)).toMatchObject({
        code: 'forbidden',
        message: expect.stringContaining('second factor'),
      });
    expect(await memberships(member)).toMatchObject([
      { slug: org, requiresTwoFactor: true, lacksTwoFactor: true },
    ]);
    for (const inside of [owner, fromProvider]) {
      expect((await fixture.control.listKeys(inside, { org })).ok).toBe(true);
      expect(await memberships(inside)).toMatchObject([{ requiresTwoFactor: true, lacksTwoFactor: false }]);
    }
    const lacking = value(await fixture.control.listMembers(owner, { org })).filter(
      (each) => each.lacksTwoFactor,
    );
    expect(lacking.map(({ email }) => email)).toEqual([member.email]);
    await setUp(member);
    expect((await fixture.control.listKeys(member, { org })).ok).toBe(true);
  });

  it.each(['owner', 'member', 'viewer'] as const)(
    'lets a %s without a second factor leave, and do nothing else',
    async (role) => {
      const org = await fixture.org(`Left by one ${role}`);
      await fixture.user(org, 'owner');
      const leaving = await withPassword(org, role);
      value(await fixture.control.requireTwoFactor(OPERATOR, { org, required: true }));
      const { email } = leaving;
      const removed = await fixture.control.removeMember(leaving, { org, email });
      expect(refusal(removed).code).toBe('forbidden');
      expect(value(await fixture.control.leaveOrg(leaving, { org })).email).toBe(email);
      expect(await memberships(leaving)).toEqual([]);
    },
  );

  it('keeps its only owner, who has no second factor', async () => {
    const org = await fixture.org('Only owner');
    const owner = await withPassword(org, 'owner');
    value(await fixture.control.requireTwoFactor(OPERATOR, { org, required: true }));
    expect(refusal(await fixture.control.leaveOrg(owner, { org })).code).toBe('conflict');
    expect(await memberships(owner)).toMatchObject([{ slug: org, role: 'owner' }]);
  });

  it('is open to members who have a password where passwords let nobody in', async () => {
    const org = await fixture.org('Provider only');
    const member = await withPassword(org, 'member');
    value(await fixture.control.requireTwoFactor(OPERATOR, { org, required: true }));
    const { control } = createFixture(db(), clock.now, { passwords: false });
    expect((await control.listKeys(member, { org })).ok).toBe(true);
    expect(value(await control.listMemberships(member))).toMatchObject([{ lacksTwoFactor: false }]);
    const all = value(await control.listMembers(member, { org }));
    expect(all).toMatchObject([{ lacksTwoFactor: false }]);
  });

  it('leaves its members as they were in other organizations', async () => {
    const [org, other] = [await fixture.org('Strict'), await fixture.org('Easy')];
    const member = await withPassword(org, 'member');
    const { email } = member;
    value(await fixture.control.addMember(OPERATOR, { org: other, email, role: 'owner' }));
    value(await fixture.control.requireTwoFactor(OPERATOR, { org, required: true }));
    expect((await fixture.control.listKeys(member, { org: other })).ok).toBe(true);
    expect((await fixture.control.listKeys(member, { org })).ok).toBe(false);
  });

  it('is made to require it by owners who have it themselves, and by no one else, and the audit trail says so', async () => {
    const org = await fixture.org('Who requires');
    const [owner, member] = [await withPassword(org, 'owner'), await withPassword(org, 'member')];
    const { requireTwoFactor } = fixture.control;
    expect(refusal(await requireTwoFactor(member, { org, required: true })).code).toBe('forbidden');
    expect(refusal(await requireTwoFactor(owner, { org, required: true })).code).toBe('conflict');
    await setUp(owner);
    for (const required of [true, true, false]) {
      clock.advance(1);
      value(await requireTwoFactor(owner, { org, required }));
    }
    const { events } = value(await fixture.control.listAudit(OPERATOR, { org }));
    const changes = events.filter(({ action }) => action === 'org.requireTwoFactor');
    expect(changes.map(({ actor, details }) => ({ actor, ...details }))).toEqual([
      { actor: owner.email, required: false },
      { actor: owner.email, required: true },
    ]);
  });
});

describe('an operator', () => {
  it('removes an identity at the provider, not the password, and ends the sessions', async () => {
    const org = await fixture.org('New identity');
    const { userId, email } = await withPassword(org, 'member');
    await db().account.create({ data: { id: 'acc_sub', accountId: 'sub', providerId: 'oidc', userId } });
    const expiresAt = new Date(clock.now() + 1_000);
    await db().session.create({ data: { id: 'ses_sub', token: 'sub', userId, expiresAt } });
    clock.advance(1);
    const { resetIdentity } = fixture.control;
    expect(value(await resetIdentity(OPERATOR, { email }))).toEqual({ userId, email });
    expect(await db().account.findMany({ where: { userId } })).toMatchObject([{ providerId: 'credential' }]);
    expect(await db().session.count({ where: { userId } })).toBe(0);
    const { events } = value(await fixture.control.listAudit(OPERATOR, { org, limit: 1 }));
    expect(events).toMatchObject([{ actor: 'ctl', action: 'member.resetIdentity', target: userId }]);
    expect(refusal(await resetIdentity(OPERATOR, { email })).code).toBe('conflict');
    expect(refusal(await resetIdentity({ kind: 'user', userId, email }, { email })).code).toBe('forbidden');
  });

  it('removes the second factor of a member who lost it, ends their sessions, and leaves a trace in each organization', async () => {
    const [one, two] = [await fixture.org('Reset one'), await fixture.org('Reset two')];
    const [ada, bob] = [await withPassword(one, 'member'), await withPassword(one, 'member')];
    value(await fixture.control.addMember(OPERATOR, { org: two, email: ada.email, role: 'viewer' }));
    for (const user of [ada, bob]) {
      await setUp(user);
      await createPasskey(user);
      const { userId } = user;
      const expiresAt = new Date(clock.now() + 1_000);
      await db().session.create({ data: { id: `ses_${userId}`, token: userId, userId, expiresAt } });
    }
    clock.advance(1);
    const { resetTwoFactor } = fixture.control;
    expect(value(await resetTwoFactor(OPERATOR, { email: ada.email }))).toEqual({
      userId: ada.userId,
      email: ada.email,
    });
    expect(await db().user.findUnique({ where: { id: ada.userId } })).toMatchObject({
      twoFactorEnabled: false,
    });
    expect(
      await db().twoFactor.findMany({ where: { userId: { in: [ada.userId, bob.userId] } } }),
    ).toMatchObject([{ userId: bob.userId }]);
    expect(await db().passkey.findMany()).toMatchObject([{ userId: bob.userId }]);
    expect(await db().session.findMany()).toMatchObject([{ userId: bob.userId }]);
    for (const org of [one, two]) {
      const { events } = value(await fixture.control.listAudit(OPERATOR, { org, limit: 1 }));
      expect(events).toMatchObject([{ actor: 'ctl', action: 'member.resetTwoFactor', target: ada.userId }]);
    }
    expect(refusal(await resetTwoFactor(OPERATOR, { email: ada.email })).code).toBe('conflict');
    expect(refusal(await resetTwoFactor(OPERATOR, { email: 'nobody@reset.example' })).code).toBe('not_found');
    expect(refusal(await resetTwoFactor(bob, { email: bob.email })).code).toBe('forbidden');
  });

  it('removes passkeys of an account that has no other second factor, and ends its sessions', async () => {
    const org = await fixture.org('Passkeys alone');
    const ada = await withPassword(org, 'member');
    await createPasskey(ada);
    await fixture.session(ada);
    const { userId, email } = ada;
    clock.advance(1);
    expect(value(await fixture.control.resetTwoFactor(OPERATOR, { email }))).toEqual({ userId, email });
    expect(await db().passkey.count({ where: { userId } })).toBe(0);
    expect(await db().session.count({ where: { userId } })).toBe(0);
    const { events } = value(await fixture.control.listAudit(OPERATOR, { org, limit: 1 }));
    expect(events).toMatchObject([{ action: 'member.resetTwoFactor', target: userId }]);
  });
});
