import { beforeAll, describe, expect, it } from '@jest/globals';
import { testClock, untilOneWaitsForALock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import type { Actor } from '../access/access.ts';
import type { Control } from '../control.ts';
import type { Tx } from '../deps.ts';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';
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
  /** Ids of keys there, and of an open invitation. */
  readonly key: string;
  readonly revoked: string;
  readonly invitation: string;
}

const NEW = { email: 'new@queued.example', role: 'owner' } as const;
const MODEL = {
  name: 'new',
  kind: 'text' as const,
  mode: 'always_on' as const,
  contextTokens: 1,
  urls: ['http://box'],
};

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
    ['creating a key', (control, actor, { org }) => control.createKey(actor, { org, name: 'k' })],
    ['revoking a key', (control, actor, { org, key }) => control.revokeKey(actor, { org, id: key })],
    ['deleting a key', (control, actor, { org, revoked }) => control.deleteKey(actor, { org, id: revoked })],
    [
      'withdrawing an invitation',
      (control, actor, { org, invitation }) => control.withdrawInvitation(actor, { org, id: invitation }),
    ],
    [
      'testing servers',
      (control, actor, { org }) => control.checkModel(actor, { org, urls: ['http://box'] }),
    ],
    ['publishing a model', (control, actor, { org }) => control.publishModel(actor, { ...MODEL, org })],
    [
      'changing a model',
      (control, actor, { org }) => control.changeModel(actor, { org, name: 'm', contextTokens: 2 }),
    ],
    ['starting a model', (control, actor, { org }) => control.startModel(actor, { org, name: 'm' })],
    ['stopping a model', (control, actor, { org }) => control.stopModel(actor, { org, name: 'm' })],
    ['deleting a model', (control, actor, { org }) => control.deleteModel(actor, { org, name: 'm' })],
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
    const asked = await meanwhile(`Removed: ${name}`, change, ({ tx, userId }) =>
      tx.member.deleteMany({ where: { userId } }),
    );
    expect(refusal(await asked.result).code).toBe('not_found');
    expect(await asked.trail()).toEqual(asked.before);
  });

  it.each(CHANGES)('%s by an owner who becomes a viewer meanwhile is refused', async (name, change) => {
    const asked = await meanwhile(`Demoted: ${name}`, change, ({ tx, userId }) =>
      tx.member.updateMany({ where: { userId }, data: { role: 'viewer' } }),
    );
    expect(refusal(await asked.result).code).toBe('forbidden');
    expect(await asked.trail()).toEqual(asked.before);
  });
});

interface Queued {
  readonly result: Promise<Result<unknown>>;
  /** The organization's audit trail before the change, and now. */
  readonly before: readonly unknown[];
  readonly trail: () => Promise<readonly unknown[]>;
}

/**
 * Holds the organization until a change by an owner waits for it. Then does something to the owner.
 */
async function meanwhile(
  name: string,
  change: (typeof CHANGES)[number][1],
  happens: (owner: { tx: Tx; userId: string }) => Promise<unknown>,
): Promise<Queued> {
  const org = await fixture.org(name);
  const owner = await fixture.user(org, 'owner');
  const { email } = await fixture.user(org, 'viewer');
  const { control } = fixture;
  const [key, revoked] = [
    value(await control.createKey(OPERATOR, { org, name: 'k' })).id,
    value(await control.createKey(OPERATOR, { org, name: 'k' })).id,
  ];
  value(await control.revokeKey(OPERATOR, { org, id: revoked }));
  const invited = await control.createInvitation(OPERATOR, { org, email: 'a@queued.example', role: 'owner' });
  const invitation = value(invited).id;
  value(await control.publishModel(OPERATOR, { ...MODEL, org, name: 'm' }));
  const asked = { org, name, email, key, revoked, invitation };
  const trail = async () => value(await control.listAudit(OPERATOR, { org })).events;
  const before = await trail();
  return db().$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT id FROM org WHERE slug = ${org} FOR UPDATE`;
      const result = change(control, owner, asked);
      await untilOneWaitsForALock(db());
      await happens({ tx, userId: owner.userId });
      // Wrapped in an object, so that the transaction does not wait for what is waiting for it.
      return { result, before, trail };
    },
    { timeout: 60_000 },
  );
}
