import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import type { Actor } from '../access/access.ts';
import type { Control } from '../control.ts';
import type { Tx } from '../deps.ts';
import { createFixture, type Fixture, refusal, waiting } from '../fixture.ts';
import type { Result } from '../result.ts';

const db = ownTestDb();
let fixture: Fixture;

beforeAll(() => {
  fixture = createFixture(db(), testClock(Date.UTC(2026, 10, 21)).now);
});

interface Asked {
  readonly org: string;
  readonly name: string;
  /** Of a viewer there. */
  readonly email: string;
}

const NEW = { email: 'new@queued.example', role: 'owner' } as const;

/** What an owner may do. */
const CHANGES: [name: string, (control: Control, actor: Actor, asked: Asked) => Promise<Result<unknown>>][] =
  [
    ['adding a member', (control, actor, { org }) => control.addMember(actor, { org, ...NEW })],
    ['inviting', (control, actor, { org }) => control.createInvitation(actor, { org, ...NEW })],
    [
      'changing a role',
      (control, actor, { org, email }) => control.setMemberRole(actor, { org, email, role: 'owner' }),
    ],
    ['removing a member', (control, actor, { org, email }) => control.removeMember(actor, { org, email })],
    ['making a key', (control, actor, { org }) => control.createKey(actor, { org, name: 'k' })],
    ['choosing a plan', (control, actor, { org }) => control.setOrgPlan(actor, { org, plan: 'Starter' })],
    [
      'asking for no second factor',
      (control, actor, { org }) => control.requireTwoFactor(actor, { org, required: false }),
    ],
    [
      'deleting the organization',
      (control, actor, { org, name }) => control.deleteOrg(actor, { org, confirm: name }),
    ],
  ];

describe('while another change holds the organization', () => {
  it.each(CHANGES)('%s by an owner who is removed meanwhile is refused', async (name, change) => {
    const { result } = await meanwhile(`Removed: ${name}`, change, ({ tx, userId }) =>
      tx.member.deleteMany({ where: { userId } }),
    );
    expect(refusal(await result).code).toBe('not_found');
  });

  it.each(CHANGES)('%s by an owner who becomes a viewer meanwhile is refused', async (name, change) => {
    const { result } = await meanwhile(`Demoted: ${name}`, change, ({ tx, userId }) =>
      tx.member.updateMany({ where: { userId }, data: { role: 'viewer' } }),
    );
    expect(refusal(await result).code).toBe('forbidden');
  });
});

/** Holds the organization until a change of an owner waits for it. Does something to the owner. */
async function meanwhile(
  name: string,
  change: (typeof CHANGES)[number][1],
  happens: (owner: { tx: Tx; userId: string }) => Promise<unknown>,
): Promise<{ result: Promise<Result<unknown>> }> {
  const org = await fixture.org(name);
  const owner = await fixture.user(org, 'owner');
  const { email } = await fixture.user(org, 'viewer');
  return db().$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT id FROM org WHERE slug = ${org} FOR UPDATE`;
      const result = change(fixture.control, owner, { org, name, email });
      await eventually(async () => (await waiting(db())) === 1);
      await happens({ tx, userId: owner.userId });
      // Wrapped, so that the transaction does not wait for what waits for it.
      return { result };
    },
    { timeout: 60_000 },
  );
}
