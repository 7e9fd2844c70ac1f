import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, testClock, untilOneWaitsForALock, waitingForLocks } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import type { Actor } from '../access/access.ts';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';
import { recordAccountEvent } from './events.ts';

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();

beforeEach(() => {
  clock.set(Date.UTC(2026, 10, 21, 12));
  fixture = createFixture(db(), clock.now);
});

const membersOf = async (org: string) =>
  value(await fixture.control.listMembers(OPERATOR, { org })).map(({ email }) => email);
/** The trail's events about accounts and about memberships that end, newest first. */
const trailOf = async (org: string) =>
  value(await fixture.control.listAudit(OPERATOR, { org })).events.filter(({ action }) =>
    /^account|leave$/.test(action),
  );

describe('leaving an organization', () => {
  it('ends the membership, keeps the account and is in the trail', async () => {
    const org = await fixture.org('Left');
    const viewer = await fixture.user(org, 'viewer');
    expect(value(await fixture.control.leaveOrg(viewer, { org })).email).toBe(viewer.email);
    expect(await membersOf(org)).toEqual([]);
    expect(await db().user.count({ where: { id: viewer.userId } })).toBe(1);
    expect((await trailOf(org))[0]).toMatchObject({ action: 'member.leave', actor: viewer.email });
    expect(refusal(await fixture.control.listKeys(viewer, { org })).code).toBe('not_found');
  });

  it('is refused to the only owner, even when two leave at once', async () => {
    const org = await fixture.org('Owners stay');
    const owners = [await fixture.user(org, 'owner'), await fixture.user(org, 'owner')];
    const left = await Promise.all(owners.map((owner) => fixture.control.leaveOrg(owner, { org })));
    expect(left.map(({ ok }) => ok).sort()).toEqual([false, true]);
    expect(await membersOf(org)).toHaveLength(1);
  });
});

const invite = async (actor: Actor, org: string, email: string) =>
  value(await fixture.control.createInvitation(actor, { org, email, role: 'viewer' })).id;
/** What the trail says about withdrawn invitations. */
const withdrawnIn = async (org: string) =>
  value(await fixture.control.listAudit(OPERATOR, { org, action: 'member.withdraw' })).events.map(
    ({ target, actor, details }) => [target, actor, details],
  );

/** The tables with a row that matches. */
async function tablesWith(pattern: string): Promise<string[]> {
  const tables = await db().$queryRaw<{ name: string }[]>`
    SELECT relname AS name FROM pg_class
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace
    ORDER BY relname`;
  const found: string[] = [];
  for (const { name } of tables) {
    const [row] = await db().$queryRawUnsafe<object[]>(
      `SELECT 1 FROM "${name}" t WHERE t::text ~ $1 LIMIT 1`,
      pattern,
    );
    if (row) found.push(name);
  }
  return found;
}

describe('deleting an account', () => {
  it('leaves nothing of it but its name in the trails of its organizations', async () => {
    const org = await fixture.org('Bereft');
    const elsewhere = await fixture.org('Elsewhere');
    await fixture.user(org, 'owner');
    const member = await fixture.user(org, 'owner');
    const { userId, email } = member;
    value(await fixture.control.setPassword(OPERATOR, { email }));
    value(await fixture.control.createInvitation(OPERATOR, { org: elsewhere, email, role: 'viewer' }));
    const hash = createHash('sha256').update(email).digest('hex');
    await db().session.create({
      data: { id: 's1', token: 't1', userId, expiresAt: new Date(clock.now() + 1) },
    });
    // Keys of two pages: one page is open, and no limiter could be reached when the other one
    // ended.
    const pages = [await fixture.org('Open'), await fixture.org('Ended')] as const;
    for (const each of pages) {
      await fixture.user(each, 'owner');
      value(await fixture.control.addMember(OPERATOR, { org: each, email, role: 'owner' }));
      value(await fixture.pageKey(member, each));
    }
    fixture.limiter.away = true;
    value(await fixture.control.removeMember(OPERATOR, { org: pages[1], email }));
    fixture.limiter.away = false;
    const key = { publicKey: '', credentialID: email, counter: 0, deviceType: '', backedUp: false };
    await db().passkey.create({ data: { id: 'p1', userId, ...key } });
    await db().twoFactor.create({ data: { id: 't1', userId, secret: '', backupCodes: '' } });
    const inAMinute = new Date(clock.now() + 60_000);
    await db().verification.createMany({
      data: [userId, 'usr_other'].map((id) => ({
        id: `v-${id}`.slice(0, 20),
        identifier: 'step',
        value: JSON.stringify({ userId: id }),
        expiresAt: inAMinute,
      })),
    });
    const attempts = [
      ...[`email:${hash}`, `email:${hash} address:127.0.0.1`, 'email:other'],
      ...[`codes:${hash}`, `codes:${hash} device:d1`, `provider:${hash}`],
    ];
    await db().signInAttempt.createMany({
      data: attempts.map((key) => ({ key, count: 1, resetsAt: new Date(clock.now() + 1) })),
    });
    const before = await tablesWith(`${userId}|${email}|${hash}`);
    expect(before).toEqual(expect.arrayContaining(['api_key', 'member', 'passkey', 'session', 'user']));
    const deleted = value(await fixture.control.deleteAccount(member, { email }));
    expect([deleted.email, deleted.left.toSorted()]).toEqual([email, [org, pages[0]].sort()]);
    const left = await tablesWith(`${userId}|${email}|${hash}`);
    expect([before.length > 9, left]).toEqual([true, ['audit_event']]);
    expect(await db().apiKey.count()).toBe(0);
    expect(await db().verification.count()).toBe(1);
    expect(await db().signInAttempt.count({ where: { key: 'email:other' } })).toBe(1);
    expect((await trailOf(org))[0]).toMatchObject({
      action: 'account.delete',
      actor: email,
      details: { email },
    });
  });

  it('is in the trail of each organization in which it ends an invitation', async () => {
    const [own, other] = [await fixture.org('Invited from'), await fixture.org('Invited to')];
    await fixture.user(own, 'owner');
    const owner = await fixture.user(own, 'owner');
    const { email } = owner;
    const by = await invite(owner, own, 'bob@example.com');
    const of = await invite(OPERATOR, other, email);
    const late = await invite(owner, own, 'late@example.com');
    await db().invitation.update({ where: { id: late }, data: { expiresAt: new Date(clock.now()) } });
    value(await fixture.control.deleteAccount(owner, { email }));
    expect(await withdrawnIn(own)).toEqual([
      [by, email, { email: 'bob@example.com', role: 'viewer', invitedBy: email }],
    ]);
    const details = { email, role: 'viewer', invitedBy: 'ctl', accountDeleted: true };
    expect(await withdrawnIn(other)).toEqual([[of, 'unknown', details]]);
    expect(await db().invitation.count()).toBe(0);
    // Members see that it happened, but not to whom.
    const member = await fixture.user(other, 'member');
    const seen = JSON.stringify(value(await fixture.control.listAudit(member, { org: other })));
    expect([seen.includes('member.withdraw'), seen.includes(email)]).toEqual([true, false]);
  });

  it('by an operator names the operator wherever it ends an invitation', async () => {
    const org = await fixture.org('Invited by ctl');
    const { email } = await fixture.user(await fixture.org('A member here'), 'viewer');
    const id = await invite(OPERATOR, org, email);
    value(await fixture.control.deleteAccount(OPERATOR, { email }));
    expect(await withdrawnIn(org)).toMatchObject([[id, 'ctl', { email }]]);
  });

  it('records no invitation that someone accepts meanwhile', async () => {
    const [own, other] = [await fixture.org('Own'), await fixture.org('Accepted meanwhile')];
    const user = await fixture.user(own, 'viewer');
    const id = await invite(OPERATOR, other, user.email);
    const { deleted } = await db().$transaction(async (tx) => {
      await tx.$queryRaw`SELECT id FROM org WHERE slug = ${other} FOR UPDATE`;
      const deleting = fixture.control.deleteAccount(user, { email: user.email });
      await untilOneWaitsForALock(db());
      const { orgId } = await tx.invitation.delete({ where: { id } });
      await tx.member.create({ data: { orgId, userId: user.userId, role: 'viewer' } });
      return { deleted: deleting };
    });
    expect(value(await deleted).left.toSorted()).toEqual([own, other].sort());
    expect(await withdrawnIn(other)).toEqual([]);
    expect((await trailOf(other))[0]).toMatchObject({ action: 'account.delete', actor: user.email });
  });

  it('leaves no organization without an owner, not even one that it is just being added to', async () => {
    const [own, other] = [await fixture.org('Own one'), await fixture.org('Added meanwhile')];
    const user = await fixture.user(own, 'viewer');
    const { email } = user;
    const { deleting, adding } = await db().$transaction(async (tx) => {
      await tx.$queryRaw`SELECT id FROM org WHERE slug = ${own} FOR UPDATE`;
      const deleting = fixture.control.deleteAccount(user, { email });
      await untilOneWaitsForALock(db());
      let added = false;
      const adding = fixture.control.addMember(OPERATOR, { org: other, email, role: 'owner' });
      void adding.finally(() => {
        added = true;
      });
      await eventually(async () => added || (await waitingForLocks(db())) === 2);
      return { deleting, adding };
    });
    expect(value(await deleting).left).toEqual([own]);
    expect(refusal(await adding).message).toContain('has just been deleted');
  });

  it("is confirmed with its own e-mail, and only operators delete someone else's account", async () => {
    const org = await fixture.org('Confirmed');
    const owner = await fixture.user(org, 'owner');
    const viewer = await fixture.user(org, 'viewer');
    const other = await fixture.control.deleteAccount(owner, { email: viewer.email });
    expect(refusal(other)).toMatchObject({ code: 'invalid_input', field: 'email' });
    // It does not say that this is no e-mail: that is not what the user wants to know.
    const refused = refusal(await fixture.control.deleteAccount(owner, { email: 'x' }));
    expect(refused).toMatchObject({ field: 'email', message: `Type your e-mail to confirm: ${owner.email}` });
    expect(value(await fixture.control.deleteAccount(OPERATOR, { email: viewer.email })).left).toEqual([org]);
    expect(refusal(await fixture.control.deleteAccount(OPERATOR, { email: viewer.email })).code).toBe(
      'not_found',
    );
  });

  it('is refused to the only owner of an organization', async () => {
    const org = await fixture.org('Needs an owner');
    const owner = await fixture.user(org, 'owner');
    const refused = refusal(await fixture.control.deleteAccount(owner, { email: owner.email }));
    expect(refused).toMatchObject({ code: 'conflict', message: expect.stringContaining('Needs an owner') });
    expect(await membersOf(org)).toEqual([owner.email]);
  });
});

describe('an event of an account', () => {
  const record = (event: Parameters<typeof recordAccountEvent>[1]) =>
    recordAccountEvent({ db: db(), now: clock.now }, event);

  it('is in the trail of each of its organizations, with the network and not the address', async () => {
    const orgs = [await fixture.org('Event one'), await fixture.org('Event two')];
    const [first = '', second = ''] = orgs;
    const { userId, email } = await fixture.user(first, 'viewer');
    value(await fixture.control.addMember(OPERATOR, { org: second, email, role: 'viewer' }));
    await record({ action: 'account.signIn', account: { userId }, address: '203.0.113.77' });
    await record({ action: 'account.signIn', account: { userId }, address: '2001:db8:12:34::' });
    for (const org of orgs) {
      const networks = (await trailOf(org))
        .filter(({ action, actor }) => action === 'account.signIn' && actor === email)
        .map(({ details }) => details.network);
      expect(networks.sort()).toEqual(['2001:db8:12::/48', '203.0.113.0/24']);
    }
    expect(JSON.stringify(await db().auditEvent.findMany())).not.toContain('203.0.113.77');
  });

  it('that failed names no actor, and an e-mail without an account leaves no trace', async () => {
    const org = await fixture.org('Failed');
    const { email } = await fixture.user(org, 'viewer');
    await record({ action: 'account.signInFailed', account: { email: email.toUpperCase() } });
    expect((await trailOf(org))[0]).toMatchObject({ actor: 'unknown', details: { email } });
    const before = await db().auditEvent.count();
    expect(await record({ action: 'account.signInFailed', account: { email: 'no@example.com' } })).toBe(0);
    expect(await db().auditEvent.count()).toBe(before);
  });
});
