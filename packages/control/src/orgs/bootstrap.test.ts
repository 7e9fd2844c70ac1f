import { beforeEach, describe, expect, it } from '@jest/globals';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, hashPassword, OPERATOR, refusal, value } from '../fixture.ts';

const first = { org: 'First', plan: 'Pro', owner: 'first@example.com', password: 'tall-otter-jumps-42' };

const db = ownTestDb();
let fixture: Fixture;

beforeEach(async () => {
  fixture = createFixture(db(), testClock().now);
  await db().member.deleteMany();
  await db().org.deleteMany();
  await db().user.deleteMany();
});

describe('an empty installation', () => {
  it('gets its first organization and owner once, however many try at once, and no others', async () => {
    const tries = await Promise.all([1, 2, 3, 4].map(() => fixture.control.bootstrap(OPERATOR, first)));
    const org = { id: expect.any(String), slug: 'first', name: 'First', plan: 'Pro' };
    expect(tries.map(value).filter((view) => view !== null)).toEqual([
      { org, owner: first.owner, passwordSet: true },
    ]);
    expect(value(await fixture.control.listMembers(OPERATOR, {}))).toMatchObject([
      { email: first.owner, role: 'owner' },
    ]);
    const [{ password: hash = '' } = {}] = await db().account.findMany();
    expect(hash).toBe(await hashPassword(first.password));

    const other = { org: 'Other', owner: 'other@example.com' };
    expect(value(await fixture.control.bootstrap(OPERATOR, other))).toBeNull();
    expect([await db().org.count(), await db().user.count()]).toEqual([1, 1]);
  });

  it('gets neither if one of them is refused', async () => {
    const refused = async (change: object) =>
      refusal(await fixture.control.bootstrap(OPERATOR, { ...first, ...change })).field;
    expect(await refused({ password: 'password' })).toBe('password');
    expect(await refused({ plan: 'Gold' })).toBe('plan');
    expect(await refused({ owner: 'nobody' })).toBe('owner');
    expect([await db().org.count(), await db().user.count()]).toEqual([0, 0]);
    const user = { kind: 'user', userId: 'usr_x', email: 'x@example.com' } as const;
    expect(refusal(await fixture.control.bootstrap(user, first)).code).toBe('forbidden');
  });

  it('leaves alone the password of an account that was there before', async () => {
    await db().user.create({ data: { id: 'usr_before', email: first.owner, name: 'Before' } });
    expect(value(await fixture.control.bootstrap(OPERATOR, first))).toMatchObject({ passwordSet: false });
    expect(await db().account.count()).toBe(0);
  });
});
