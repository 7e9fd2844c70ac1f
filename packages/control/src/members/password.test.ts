import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { newUserId } from '@tidegate/contracts';
import { eventually, testClock, untilOneWaitsForALock, waitingForLocks } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, hashPassword, OPERATOR, refusal, value } from '../fixture.ts';

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();

beforeEach(() => {
  fixture = createFixture(db(), clock.now);
});

const LOST = 'the lost password';

async function member(email: string, ...orgs: string[]): Promise<string> {
  const [first, ...others] = orgs;
  const { addMember } = fixture.control;
  const input = { email, role: 'member' } as const;
  const { userId } = value(await addMember(OPERATOR, { ...input, org: first ?? '', password: LOST }));
  for (const org of others) value(await addMember(OPERATOR, { ...input, org }));
  return userId;
}

const signIn = (userId: string, token: string) =>
  db().session.create({
    data: { id: `ses_${token}`, token, userId, expiresAt: new Date(clock.now() + 1_000) },
  });

const opens = async (userId: string, password: string): Promise<boolean> => {
  const { password: hash } = await db().account.findFirstOrThrow({
    where: { userId, providerId: 'credential' },
  });
  return hash === (await hashPassword(password));
};

describe('a new password set by an operator', () => {
  it('replaces the lost one and ends every session of the account, and of no other', async () => {
    const org = await fixture.org('Lost');
    const [ada, bob] = [await member('ada@lost.example', org), await member('bob@lost.example', org)];
    for (const token of ['laptop', 'phone']) await signIn(ada, token);
    await db().verification.create({
      data: { id: 'step', identifier: 'step', value: ada, expiresAt: new Date(clock.now() + 1_000) },
    });
    await signIn(bob, 'other');
    const set = value(
      await fixture.control.setPassword(OPERATOR, {
        email: ' Ada@Lost.example ',
        password: 'a new password',
      }),
    );
    expect(set).toEqual({ userId: ada, email: 'ada@lost.example' });
    expect([await opens(ada, 'a new password'), await opens(ada, LOST)]).toEqual([true, false]);
    expect(await opens(bob, LOST)).toBe(true);
    expect((await db().session.findMany()).map(({ token }) => token)).toEqual(['other']);
    expect(await db().verification.count({ where: { value: ada } })).toBe(0);
  });

  it('lets its user sign in right away, however many attempts were made before', async () => {
    const email = 'ada@locked.example';
    await member(email, await fixture.org('Locked'));
    const hash = createHash('sha256').update(email).digest('hex');
    const keys = [`email:${hash}`, `email:${hash} network:127.0.0.1`, `codes:${hash}`, 'address:127.0.0.1'];
    await db().signInAttempt.createMany({
      data: keys.map((key) => ({ key, count: 300, resetsAt: new Date(clock.now() + 1_000) })),
    });
    value(await fixture.control.setPassword(OPERATOR, { email, password: 'a new password' }));
    expect((await db().signInAttempt.findMany()).map(({ key }) => key)).toEqual(['address:127.0.0.1']);
  });

  it('is refused if it is common', async () => {
    const email = 'ada@common.example';
    await member(email, await fixture.org('Common'));
    const set = refusal(await fixture.control.setPassword(OPERATOR, { email, password: 'password1' }));
    expect(set).toMatchObject({ code: 'invalid_input', field: 'password' });
  });

  it("is refused if it is the name of one of the account's organizations", async () => {
    const email = 'ada@named.example';
    const first = await fixture.org('Named first');
    const ada = await member(email, first);
    const second = await fixture.org('Difference Makers');
    value(await fixture.control.addMember(OPERATOR, { org: second, email, role: 'member' }));
    const set = (password: string) => fixture.control.setPassword(OPERATOR, { email, password });
    for (const weak of ['named first 1', 'DifferenceMakers!']) {
      expect(refusal(await set(weak))).toMatchObject({ code: 'invalid_input', field: 'password' });
      expect(await opens(ada, weak)).toBe(false);
    }
    value(await set('Somewhere Else'));
  });

  it('is generated when none is given, and kept nowhere but as a hash', async () => {
    const ada = await member('ada@madeup.example', await fixture.org('Made up'));
    const { password = '' } = value(
      await fixture.control.setPassword(OPERATOR, { email: 'ada@madeup.example' }),
    );
    expect(password).toMatch(/^[0-9A-Za-z]{20}$/);
    expect(await opens(ada, password)).toBe(true);
    expect(JSON.stringify([await db().account.findMany(), await db().auditEvent.findMany()])).not.toContain(
      password,
    );
  });

  it('may be the first one of an account that the identity provider let in, even when two set it at once', async () => {
    const id = newUserId();
    const email = 'ada@provider.example';
    await db().user.create({ data: { id, email, name: 'Ada' } });
    await db().account.create({ data: { id: 'acc_oidc', accountId: 'sub', providerId: 'oidc', userId: id } });
    const set = (password: string) => fixture.control.setPassword(OPERATOR, { email, password });
    const both = await db().$transaction(
      async (tx) => {
        await tx.$queryRaw`SELECT id FROM "user" WHERE id = ${id} FOR UPDATE`;
        const setting = [set('the one password'), set('the other one')];
        await eventually(async () => (await waitingForLocks(db())) === 2);
        return setting;
      },
      { timeout: 60_000 },
    );
    expect((await Promise.all(both)).map(({ ok }) => ok)).toEqual([true, true]);
    const accounts = await db().account.findMany({ where: { userId: id }, orderBy: { providerId: 'asc' } });
    expect(accounts.map(({ providerId }) => providerId)).toEqual(['credential', 'oidc']);
  });

  it('is set, and recorded in the remaining trails, if one of its organizations is deleted meanwhile', async () => {
    const [left, gone] = [await fixture.org('Left over'), await fixture.org('Gone')];
    await member('ada@gone.example', left, gone);
    const setting = await db().$transaction(
      async (tx) => {
        await tx.$queryRaw`SELECT id FROM org WHERE slug = ${gone} FOR UPDATE`;
        const result = fixture.control.setPassword(OPERATOR, { email: 'ada@gone.example' });
        await untilOneWaitsForALock(db());
        await tx.org.delete({ where: { slug: gone } });
        // Wrapped in an object, so that the transaction does not wait for what is waiting for it.
        return { result };
      },
      { timeout: 60_000 },
    );
    expect(value(await setting.result).email).toBe('ada@gone.example');
    const trail = { org: left, action: 'member.setPassword' };
    expect(value(await fixture.control.listAudit(OPERATOR, trail)).events).toHaveLength(1);
  });

  it('waits for a change of all its organizations, and does not hold one that this change needs', async () => {
    const orgs = await db().org.findMany({
      where: { slug: { in: [await fixture.org('Order one'), await fixture.org('Order two')] } },
      orderBy: { id: 'asc' },
    });
    const [first, last] = [orgs[0]?.slug ?? '', orgs[1]?.slug ?? ''];
    const ada = await fixture.user(first, 'owner');
    value(await fixture.control.addMember(OPERATOR, { org: last, email: ada.email, role: 'owner' }));
    value(await fixture.pageKey(ada, last));
    const setting = await db().$transaction(
      async (tx) => {
        await tx.$queryRaw`SELECT id FROM org WHERE slug = ${first} FOR UPDATE`;
        const result = fixture.control.setPassword(OPERATOR, { email: ada.email });
        await untilOneWaitsForALock(db());
        await tx.$queryRaw`SELECT id FROM org WHERE slug = ${last} FOR UPDATE NOWAIT`;
        return { result };
      },
      { timeout: 60_000 },
    );
    expect(value(await setting.result).email).toBe(ada.email);
  });

  it('is in the audit trail of each organization that the account belongs to, and of no other', async () => {
    const [one, two, other] = [
      await fixture.org('Trail one'),
      await fixture.org('Trail two'),
      await fixture.org('Trail other'),
    ];
    const ada = await member('ada@trail.example', one, two);
    await member('bob@trail.example', other);
    clock.advance(1);
    value(await fixture.control.setPassword(OPERATOR, { email: 'ada@trail.example' }));
    const [newestOfOne, newestOfTwo, newestOfOther] = await Promise.all(
      [one, two, other].map(
        async (org) => value(await fixture.control.listAudit(OPERATOR, { org, limit: 1 })).events[0],
      ),
    );
    const event = {
      actor: 'ctl',
      action: 'member.setPassword',
      target: ada,
      details: { email: 'ada@trail.example' },
    };
    expect([newestOfOne, newestOfTwo]).toMatchObject([event, event]);
    expect(newestOfOther?.action).not.toBe('member.setPassword');
  });

  it('is refused for an e-mail without an account, for one too short, and to owners', async () => {
    const org = await fixture.org('Refused');
    const ada = await member('ada@refused.example', org);
    const { setPassword } = fixture.control;
    expect(refusal(await setPassword(OPERATOR, { email: 'nobody@refused.example' }))).toEqual({
      code: 'not_found',
      field: 'email',
      message: 'There is no account for nobody@refused.example.',
    });
    const email = 'ada@refused.example';
    expect(refusal(await setPassword(OPERATOR, { email, password: 'short' })).field).toBe('password');
    const owner = await fixture.user(org, 'owner');
    expect(refusal(await setPassword(owner, { email })).code).toBe('forbidden');
    expect(await opens(ada, LOST)).toBe(true);
  });
});
