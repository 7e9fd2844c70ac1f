import { beforeEach, describe, expect, it } from '@jest/globals';
import { testClock, untilOneWaitsForALock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

const DAY_MS = 86_400_000;
type Member = Awaited<ReturnType<Fixture['user']>>;

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();
const account = { name: 'Ada', password: 'a-long-enough-password' };

beforeEach(() => {
  clock.set(Date.UTC(2026, 10, 21, 12));
  fixture = createFixture(db(), clock.now);
});

/** Adds a member as an earlier release did, which kept the invitation. */
const joinBesides = async (slug: string, { userId }: Member) => {
  const { id: orgId } = await db().org.findUniqueOrThrow({ where: { slug } });
  await db().member.create({ data: { orgId, userId, role: 'viewer' } });
};

const invite = async (org: string, email: string, role: 'owner' | 'member' | 'viewer' = 'member') =>
  value(await fixture.control.createInvitation(OPERATOR, { org, email, role }));

describe('an invitation', () => {
  it('makes its e-mail a member with an account, once', async () => {
    const org = await fixture.org('Once invited');
    const { token } = await invite(org, 'ada@once.example', 'viewer');
    expect(value(await fixture.control.openInvitation(null, { token }))).toMatchObject({
      email: 'ada@once.example',
      role: 'viewer',
      hasAccount: false,
    });
    const both = await Promise.all(
      [1, 2].map(() => fixture.control.acceptInvitation(null, { token, ...account })),
    );
    expect(both.filter(({ ok }) => ok)).toHaveLength(1);
    expect(value(await fixture.control.listMembers(OPERATOR, { org }))).toEqual([
      expect.objectContaining({ email: 'ada@once.example', name: 'Ada', role: 'viewer' }),
    ]);
    expect(refusal(await fixture.control.openInvitation(null, { token })).code).toBe('not_found');
  });

  it('stays open if the password is common or the name of the organization', async () => {
    const org = await fixture.org('Easy Words');
    const { token } = await invite(org, 'ada@easy.example');
    for (const password of ['sunshine', 'easywords']) {
      const accepted = await fixture.control.acceptInvitation(null, { token, ...account, password });
      expect(refusal(accepted)).toMatchObject({ code: 'invalid_input', field: 'password' });
    }
    value(await fixture.control.acceptInvitation(null, { token, ...account }));
  });

  it('is refused with every fault of the input at once', async () => {
    const org = await fixture.org('All at once');
    const { token } = value(
      await fixture.control.createInvitation(OPERATOR, { org, email: 'all@example.com', role: 'viewer' }),
    );
    const faults = async (account: { name?: string; password?: string }) => {
      const { field, others = [] } = refusal(
        await fixture.control.acceptInvitation(null, { token, ...account }),
      );
      return [field, ...others.map((other) => other.field)];
    };
    expect(await faults({ name: ' ', password: 'password1234' })).toEqual(['name', 'password']);
    expect(await faults({ name: ' ', password: 'short' })).toEqual(['name', 'password']);
    expect(await faults({ name: ' ', password: account.password })).toEqual(['name']);
    expect(await faults({})).toEqual(['name', 'password']);
  });

  it('keeps its token out of lists, the audit trail and the database', async () => {
    const org = await fixture.org('Secret link');
    const { token } = await invite(org, 'ada@secret.example');
    const seen = JSON.stringify([
      await fixture.control.listInvitations(OPERATOR, { org }),
      await fixture.control.listAudit(OPERATOR, { org }),
      await db().$queryRaw`SELECT id, email, encode(token_hash, 'escape') FROM invitation`,
    ]);
    expect(seen).toContain('ada@secret.example');
    expect(seen).not.toContain(token);
  });

  it('works for 7 days and no longer', async () => {
    const org = await fixture.org('Late');
    const { token } = await invite(org, 'ada@late.example');
    clock.advance(7 * DAY_MS - 1);
    expect((await fixture.control.openInvitation(null, { token })).ok).toBe(true);
    clock.advance(1);
    expect(refusal(await fixture.control.acceptInvitation(null, { token, ...account })).code).toBe(
      'not_found',
    );
    expect(value(await fixture.control.listInvitations(OPERATOR, { org }))).toEqual([]);
  });

  it('ends once withdrawn, or replaced by another for the same e-mail', async () => {
    const org = await fixture.org('Void');
    const first = await invite(org, 'ada@void.example');
    const second = await invite(org, 'ada@void.example', 'owner');
    expect((await fixture.control.openInvitation(null, { token: first.token })).ok).toBe(false);
    value(await fixture.control.withdrawInvitation(OPERATOR, { org, id: second.id }));
    expect((await fixture.control.openInvitation(null, { token: second.token })).ok).toBe(false);
  });

  it('is in the trail as withdrawn once another replaces it, unless it had ended by itself', async () => {
    const org = await fixture.org('Replaced');
    const owner = await fixture.user(org, 'owner');
    const email = 'ada@replaced.example';
    const first = value(await fixture.control.createInvitation(owner, { org, email, role: 'owner' }));
    clock.advance(7 * DAY_MS - 1);
    await invite(org, email, 'viewer');
    clock.advance(7 * DAY_MS);
    await invite(org, email, 'viewer');
    const { events } = value(await fixture.control.listAudit(OPERATOR, { org, action: 'member.withdraw' }));
    const details = { email, role: 'owner', invitedBy: owner.email };
    expect(events).toMatchObject([{ actor: 'ctl', target: first.id, details }]);
  });

  it('is not spent by a refusal', async () => {
    const org = await fixture.org('Unspent');
    const { token } = await invite(org, 'ada@unspent.example');
    expect(refusal(await fixture.control.acceptInvitation(null, { token, name: 'Ada' })).field).toBe(
      'password',
    );
    const short = await fixture.control.acceptInvitation(null, { token, name: 'Ada', password: 'short' });
    expect(refusal(short).field).toBe('password');
    const other = await fixture.user(org, 'viewer');
    expect(refusal(await fixture.control.acceptInvitation(other, { token })).code).toBe('forbidden');
    expect((await fixture.control.acceptInvitation(null, { token, ...account })).ok).toBe(true);
  });

  it('never gives an account that exists a new password: its owner signs in', async () => {
    const org = await fixture.org('Existing');
    const there = await fixture.user(await fixture.org('Existing elsewhere'), 'viewer');
    const { token } = await invite(org, there.email);
    expect(refusal(await fixture.control.acceptInvitation(null, { token, ...account })).message).toContain(
      'sign in',
    );
    // The password is not looked at, so it is not hashed. Otherwise whoever has the link could have
    // many hashed.
    const weak = await fixture.control.acceptInvitation(null, { token, name: 'Ada', password: 'password1' });
    expect(refusal(weak).code).toBe('forbidden');
    const accepted = value(await fixture.control.acceptInvitation(there, { token }));
    expect(accepted).toEqual({ email: there.email, org });
  });

  it('creates an account without a password where people sign in elsewhere, but not for an e-mail that has one', async () => {
    const org = await fixture.org('No passwords');
    const { token } = await invite(org, 'ada@provider.example');
    const accept = (at: string) =>
      fixture.control.acceptInvitation(null, { token: at, name: 'Ada', withoutPassword: true });
    value(await accept(token));
    const { id } = await db().user.findUniqueOrThrow({ where: { email: 'ada@provider.example' } });
    expect(await db().account.count({ where: { userId: id } })).toBe(0);
    const there = await fixture.user(await fixture.org('No passwords elsewhere'), 'viewer');
    const second = await invite(org, there.email);
    expect(refusal(await accept(second.token)).message).toContain('sign in');
  });

  it.each([
    ['removed', (org: string, { email }: Member) => fixture.control.removeMember(OPERATOR, { org, email })],
    ['gone', (org: string, member: Member) => fixture.control.leaveOrg(member, { org })],
    [
      'demoted',
      (org: string, { email }: Member) =>
        fixture.control.setMemberRole(OPERATOR, { org, email, role: 'member' as const }),
    ],
  ])('ends once the owner who created it is %s, and the audit trail says so', async (how, leave) => {
    const org = await fixture.org(`Inviter ${how}`);
    await fixture.user(org, 'owner');
    const [leaving, staying] = [await fixture.user(org, 'owner'), await fixture.user(org, 'owner')];
    const by = async (owner: typeof leaving, email: string) =>
      value(await fixture.control.createInvitation(owner, { org, email, role: 'owner' }));
    const first = await by(leaving, `ada@${how}.example`);
    const second = await by(staying, `bob@${how}.example`);
    clock.advance(1);
    value(await leave(org, leaving));
    expect(await db().invitation.count({ where: { id: first.id } })).toBe(0);
    const late = await fixture.control.acceptInvitation(null, { token: first.token, ...account });
    expect(refusal(late).code).toBe('not_found');
    expect((await fixture.control.acceptInvitation(null, { token: second.token, ...account })).ok).toBe(true);
    const { events } = value(await fixture.control.listAudit(OPERATOR, { org }));
    expect(events).toContainEqual(
      expect.objectContaining({
        action: 'member.withdraw',
        target: first.id,
        details: { email: first.email, role: 'owner', invitedBy: leaving.email },
      }),
    );
  });

  it('ends once its e-mail is added as a member, so that no removed member can come back by it', async () => {
    const org = await fixture.org('Added meanwhile');
    const member = await fixture.user(await fixture.org('Added from elsewhere'), 'viewer');
    const { email } = member;
    const { token, id } = await invite(org, email, 'owner');
    clock.advance(1);
    value(await fixture.control.addMember(OPERATOR, { org, email, role: 'viewer' }));
    expect(value(await fixture.control.listInvitations(OPERATOR, { org }))).toEqual([]);
    expect(refusal(await fixture.control.acceptInvitation(member, { token })).code).toBe('not_found');
    const { events } = value(await fixture.control.listAudit(OPERATOR, { org, action: 'member' }));
    expect(events.map(({ action, target, details }) => [action, target, details.role]).sort()).toEqual([
      ['member.add', member.userId, 'viewer'],
      ['member.invite', id, 'owner'],
      ['member.withdraw', id, 'owner'],
    ]);
  });

  it.each<[string, (org: string, member: Member) => Promise<unknown>]>([
    ['removed', (org, { email }) => fixture.control.removeMember(OPERATOR, { org, email })],
    ['gone', (org, member) => fixture.control.leaveOrg(member, { org })],
  ])('ends once the member that it names is %s', async (how, leave) => {
    const org = await fixture.org(`Invited and ${how}`);
    const member = await fixture.user(await fixture.org(`${how} from elsewhere`), 'viewer');
    const { token } = await invite(org, member.email, 'owner');
    await joinBesides(org, member);
    await leave(org, member);
    expect(refusal(await fixture.control.acceptInvitation(member, { token })).code).toBe('not_found');
    expect(await db().invitation.count({ where: { email: member.email } })).toBe(0);
  });

  it('that a member opens is spent, changes no role, and leaves no trace of a join', async () => {
    const org = await fixture.org('Member already');
    const member = await fixture.user(await fixture.org('Member elsewhere'), 'viewer');
    const { token } = await invite(org, member.email, 'owner');
    await joinBesides(org, member);
    expect(refusal(await fixture.control.acceptInvitation(member, { token }))).toMatchObject({
      code: 'conflict',
      message: `${member.email} is already a member.`,
    });
    expect(await db().invitation.count({ where: { email: member.email } })).toBe(0);
    const members = value(await fixture.control.listMembers(OPERATOR, { org }));
    expect(members.map(({ email, role }) => [email, role])).toEqual([[member.email, 'viewer']]);
    const { events } = value(await fixture.control.listAudit(OPERATOR, { org, action: 'member.join' }));
    expect(events).toEqual([]);
  });

  it('does not work while its inviter is not an owner, however that came about', async () => {
    const org = await fixture.org('Inviter gone');
    const owner = await fixture.user(org, 'owner');
    const { token } = value(
      await fixture.control.createInvitation(owner, { org, email: 'ada@gone.example', role: 'owner' }),
    );
    await db().member.deleteMany({ where: { userId: owner.userId } });
    expect(refusal(await fixture.control.openInvitation(null, { token })).code).toBe('not_found');
    expect(value(await fixture.control.listInvitations(OPERATOR, { org }))).toEqual([]);
    expect(await db().user.count({ where: { email: 'ada@gone.example' } })).toBe(0);
  });

  it('is refused if its inviter is removed while it is being accepted', async () => {
    const org = await fixture.org('Inviter leaves');
    const owner = await fixture.user(org, 'owner');
    const { token } = value(
      await fixture.control.createInvitation(owner, { org, email: 'ada@leaves.example', role: 'owner' }),
    );
    const { accepted } = await db().$transaction(
      async (tx) => {
        await tx.$queryRaw`SELECT id FROM org WHERE slug = ${org} FOR UPDATE`;
        const accepting = fixture.control.acceptInvitation(null, { token, ...account });
        await untilOneWaitsForALock(db());
        await tx.member.deleteMany({ where: { userId: owner.userId } });
        return { accepted: accepting };
      },
      { timeout: 60_000 },
    );
    expect(refusal(await accepted).code).toBe('not_found');
  });

  it('is created, seen and withdrawn by owners only', async () => {
    const org = await fixture.org('Owners invite');
    const { id } = await invite(org, 'ada@owners.example');
    for (const role of ['member', 'viewer'] as const) {
      const actor = await fixture.user(org, role);
      const attempts = [
        fixture.control.createInvitation(actor, { org, email: 'x@example.com', role: 'owner' }),
        fixture.control.listInvitations(actor, { org }),
        fixture.control.withdrawInvitation(actor, { org, id }),
      ];
      for (const attempt of attempts) expect(refusal(await attempt).code).toBe('forbidden');
    }
  });
});

describe('the audit trail', () => {
  it('is read newest first, page by page, each event once', async () => {
    const org = await fixture.org('Audited');
    clock.advance(1);
    for (let i = 0; i < 7; i++) {
      value(await fixture.control.createKey(OPERATOR, { org, name: `k${i}` }));
      clock.advance(i % 2);
    }
    const seen: string[] = [];
    let before: string | undefined;
    do {
      const page = value(
        await fixture.control.listAudit(OPERATOR, { org, limit: 3, ...(before ? { before } : {}) }),
      );
      seen.push(...page.events.map(({ id }) => id));
      before = page.next ?? undefined;
    } while (before);
    expect(new Set(seen).size).toBe(8);
    expect(seen).toHaveLength(8);
    const all = value(await fixture.control.listAudit(OPERATOR, { org }));
    expect(all.events.map(({ id }) => id)).toEqual(seen);
    expect(all.events.at(-1)?.action).toBe('org.create');
  });
});

describe('usage of one key or model', () => {
  it('is what its rows add up to', async () => {
    const org = await fixture.org('Filtered');
    const { id: orgId } = await db().org.findUniqueOrThrow({ where: { slug: org } });
    await db().$executeRaw`INSERT INTO usage_day VALUES
      (${orgId}, '2026-11-20', 'key_a', 'mdl_x', 2, 1, 3, 4, 5, 60, 2),
      (${orgId}, '2026-11-21', 'key_a', 'mdl_y', 5, 0, 7, 8, 0, 50, 5),
      (${orgId}, '2026-11-21', 'key_b', 'mdl_x', 11, 2, 1, 1, 9, 10, 1)`;
    const requests = async (filter: { keyId?: string; modelId?: string }) =>
      value(await fixture.control.showUsage(OPERATOR, { org, ...filter })).totals.requests;
    expect(await requests({})).toBe(18);
    expect(await requests({ keyId: 'key_a' })).toBe(7);
    expect(await requests({ modelId: 'mdl_x' })).toBe(13);
    expect(await requests({ keyId: 'key_b', modelId: 'mdl_y' })).toBe(0);
  });

  it('can be read for a single day or hour, and for no other step', async () => {
    const org = await fixture.org('Steps');
    const { id: orgId } = await db().org.findUniqueOrThrow({ where: { slug: org } });
    await db().$executeRaw`INSERT INTO usage_day VALUES
      (${orgId}, '2026-11-20', 'key_a', 'mdl_x', 2, 1, 3, 4, 5, 60, 2),
      (${orgId}, '2026-11-21', 'key_a', 'mdl_y', 5, 0, 7, 8, 0, 50, 5),
      (${orgId}, '2026-11-21', 'key_b', 'mdl_x', 11, 2, 1, 1, 9, 10, 1)`;
    await db().$executeRaw`INSERT INTO usage_hour VALUES
      (${orgId}, '2026-11-21T03:00:00Z', 'key_b', 'mdl_x', 7, 0, 0, 0, 0, 0, 0),
      (${orgId}, '2026-11-21T04:00:00Z', 'key_b', 'mdl_x', 4, 0, 0, 0, 0, 0, 0)`;
    const requests = async (step: string, filter: { keyId?: string; modelId?: string } = {}) =>
      value(await fixture.control.showUsageOfStep(OPERATOR, { org, step, ...filter })).map(
        ({ requests: count }) => count,
      );
    expect(await requests('2026-11-21')).toEqual([11, 5]);
    expect(await requests('2026-11-21', { keyId: 'key_a' })).toEqual([5]);
    expect(await requests('2026-11-21T03:00:00.000Z')).toEqual([7]);
    expect(await requests('2026-11-21T03:00:00.000Z', { modelId: 'mdl_y' })).toEqual([]);
    for (const step of ['2026-02-30', '2026-11-21T03:00', '2026-11-21T03:30:00.000Z', 'yesterday'])
      expect(refusal(await fixture.control.showUsageOfStep(OPERATOR, { org, step }))).toMatchObject({
        ...{ code: 'invalid_input', field: 'step' },
      });
  });
});
