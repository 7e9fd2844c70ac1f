import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Db } from '@tidegate/db';
import { testClock, untilOneWaitsForALock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

type Owner = Awaited<ReturnType<Fixture['user']>>;

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();

beforeEach(() => {
  clock.set(Date.UTC(2026, 10, 21, 12));
  fixture = createFixture(db(), clock.now);
});

const listed = async (org: string) => value(await fixture.control.listKeys(OPERATOR, { org }));
const pageKey = async (owner: Owner, org: string) => value(await fixture.pageKey(owner, org)).id;
const remove = (org: string, { email }: Owner) => fixture.control.removeMember(OPERATOR, { org, email });

/** Two owners of an organization. The tests end the page keys of `going`. */
async function owners(name: string) {
  const org = await fixture.org(name);
  return { org, going: await fixture.user(org, 'owner'), staying: await fixture.user(org, 'owner') };
}

/**
 * Holds the lock under which an organization's members change, until `begin` waits for it. Then
 * does the rest of such a change.
 */
async function whileLocked<T>(
  org: string,
  begin: () => Promise<T>,
  then: (tx: Pick<Db, 'member' | 'apiKey'>) => Promise<unknown>,
): Promise<T> {
  const { begun } = await db().$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT id FROM org WHERE slug = ${org} FOR UPDATE`;
      const running = begin();
      // Nothing awaits it before the end of the transaction.
      running.catch(() => {});
      await untilOneWaitsForALock(db());
      await then(tx);
      return { begun: running };
    },
    { timeout: 60_000 },
  );
  return begun;
}

describe('the page key of an owner', () => {
  it.each<[string, (org: string, owner: Owner) => Promise<unknown>]>([
    ['is removed', remove],
    ['leaves', (org, owner) => fixture.control.leaveOrg(owner, { org })],
    [
      'becomes a member',
      (org, { email }) => fixture.control.setMemberRole(OPERATOR, { org, email, role: 'member' }),
    ],
    [
      'becomes a viewer',
      (org, { email }) => fixture.control.setMemberRole(OPERATOR, { org, email, role: 'viewer' }),
    ],
    ['deletes the account', (_org, owner) => fixture.control.deleteAccount(owner, { email: owner.email })],
  ])(
    'who %s is refused and off the list immediately, as the trail says, and no other key',
    async (how, go) => {
      const { org, going, staying } = await owners(`Who ${how}`);
      const elsewhere = await fixture.org(`Elsewhere ${how}`);
      value(await fixture.control.addMember(OPERATOR, { org: elsewhere, email: going.email, role: 'owner' }));
      await fixture.user(elsewhere, 'owner');
      const kept = [
        value(await fixture.control.createKey(going, { org, name: 'usual' })).id,
        await pageKey(staying, org),
      ];
      const there = await pageKey(going, elsewhere);
      const id = await pageKey(going, org);
      await go(org, going);
      const isDeleted = how === 'deletes the account';
      expect([...fixture.limiter.revoked].sort()).toEqual((isDeleted ? [id, there] : [id]).sort());
      expect((await listed(org)).map((key) => key.id).sort()).toEqual(kept.sort());
      expect((await listed(org)).map(({ state }) => state)).toEqual(['Active', 'Active']);
      expect((await listed(elsewhere)).map((key) => key.id)).toEqual(isDeleted ? [] : [there]);
      const { events } = value(await fixture.control.listAudit(OPERATOR, { org, action: 'key' }));
      const actions = events.filter(({ target }) => target === id).map(({ action }) => action);
      expect(actions.sort()).toEqual(['key.create', 'key.delete', 'key.revoke']);
    },
  );

  it('who goes while no limiter can be reached is revoked all the same, and the answer says what is left', async () => {
    const { org, going } = await owners('Limiter away');
    const id = await pageKey(going, org);
    fixture.limiter.away = true;
    expect(await remove(org, going)).toMatchObject({
      ok: true,
      notInForce: `The change is saved. ${going.email} had a Try it key. The key is marked as revoked but may still be accepted: the limiter could not be reached. It will be refused within a minute of the limiter being back.`,
    });
    expect((await listed(org)).map((key) => [key.id, key.state])).toEqual([[id, 'Revoked']]);
    expect(refusal(await fixture.control.listKeys(going, { org })).code).toBe('not_found');
  });

  it('that was revoked before, while no limiter could be reached, ends with the role', async () => {
    const { org, going } = await owners('Revoked before');
    const id = await pageKey(going, org);
    fixture.limiter.away = true;
    await fixture.control.endPageKey(going, { org, id });
    fixture.limiter.away = false;
    expect(await remove(org, going)).not.toHaveProperty('notInForce');
    expect([fixture.limiter.revoked, await listed(org)]).toEqual([[id], []]);
  });

  it('is not created for someone who is removed meanwhile', async () => {
    const { org, going } = await owners('Made meanwhile');
    const session = await fixture.session(going);
    const made = await whileLocked(
      org,
      () => fixture.control.createPageKey(going, { org, session }),
      (tx) => tx.member.deleteMany({ where: { userId: going.userId } }),
    );
    expect(refusal(made).code).toBe('not_found');
    expect(await listed(org)).toEqual([]);
  });

  it.each<[string, (org: string, id: string, going: Owner) => Promise<{ ok: boolean }>]>([
    [
      'its page ends',
      (org: string, id: string, going: Owner) => fixture.control.endPageKey(going, { org, id }),
    ],
    ['it is revoked', (org: string, id: string) => fixture.control.revokeKey(OPERATOR, { org, id })],
  ])('can be revoked with the role while %s: neither fails for the other', async (how, begin) => {
    const { org, going } = await owners(`While ${how}`);
    const id = await pageKey(going, org);
    const ended = await whileLocked(
      org,
      () => begin(org, id, going),
      (tx) => tx.apiKey.updateMany({ where: { id }, data: { revokedAt: new Date(clock.now()) } }),
    );
    expect(ended.ok).toBe(true);
  });
});
