import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { recordAccountEvent } from '../account/events.ts';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';
import type { ListAuditInput } from './list.ts';

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();

beforeAll(async () => {
  fixture = createFixture(db(), clock.now);
});

const list = async (org: string, input: Omit<ListAuditInput, 'org'>, actor = OPERATOR) =>
  value(await fixture.control.listAudit(actor, { org, ...input })).events;

describe('the audit trail', () => {
  it('is filtered by actor, action and days, also page by page', async () => {
    clock.set(Date.UTC(2026, 10, 20, 23, 59, 59, 999));
    const org = await fixture.org('Filtered trail');
    const owner = await fixture.user(org, 'owner');
    value(await fixture.control.createKey(OPERATOR, { org, name: 'late' }));
    clock.advance(1);
    for (const name of ['a', 'b', 'c']) {
      value(await fixture.control.createKey(owner, { org, name }));
      clock.advance(1);
    }
    const { id } = value(await fixture.control.createKey(owner, { org, name: 'd' }));
    clock.advance(1);
    value(await fixture.control.revokeKey(owner, { org, id }));
    const actor = owner.email.toUpperCase();
    expect(await list(org, { actor })).toHaveLength(5);
    expect(await list(org, { action: 'key.create' })).toHaveLength(5);
    expect(await list(org, { action: 'key' })).toHaveLength(6);
    expect(await list(org, { action: 'key.create', from: '2026-11-21' })).toHaveLength(4);
    expect((await list(org, { action: 'key', to: '2026-11-20' })).map(({ details }) => details.name)).toEqual(
      ['late'],
    );
    const input = { actor, action: 'key.create', limit: 3 };
    const first = value(await fixture.control.listAudit(OPERATOR, { org, ...input }));
    const rest = await list(org, { ...input, ...(first.next ? { before: first.next } : {}) });
    expect([...first.events, ...rest].map(({ details }) => details.name)).toEqual(['d', 'c', 'b', 'a']);
    const backwards = { org, from: '2026-11-21', to: '2026-11-20' };
    expect(refusal(await fixture.control.listAudit(OPERATOR, backwards))).toMatchObject({
      code: 'invalid_input',
      message: 'From must not be after To.',
    });
    expect(await list(org, { from: '2026-11-20', to: '2026-11-20' })).not.toEqual([]);
    const [elsewhere] = await list(await fixture.org('Another trail'), {});
    for (const [field, bad] of [
      ['from', '21.11.'],
      ['to', '2026-02-30'],
      ['action', 'key.%'],
      ['action', 'nonsense'],
      ['from', '2026-99-99'],
      ['to', '2026-99-99'],
      ['before', 'x'],
      ['before', elsewhere?.id],
    ] as const)
      expect(refusal(await fixture.control.listAudit(OPERATOR, { org, [field]: bad }))).toMatchObject({
        field,
      });
  });

  it('finds an actor by exactly its name, whatever characters it has', async () => {
    const org = await fixture.org('Literal trail');
    const named = (email: string) => fixture.control.addMember(OPERATOR, { org, email, role: 'owner' });
    for (const email of ['john_doe@literal.example', 'john.doe@literal.example']) {
      const { userId } = value(await named(email));
      value(await fixture.control.createKey({ kind: 'user', userId, email }, { org, name: 'k' }));
    }
    const alice = { kind: 'operator', systemUser: 'CORP\\alice' } as const;
    value(await fixture.control.createKey(alice, { org, name: 'k' }));
    const actorsOf = async (actor: string) => (await list(org, { actor })).map((event) => event.actor);
    expect(await actorsOf('John_Doe@literal.example')).toEqual(['john_doe@literal.example']);
    expect(await actorsOf('john.doe@literal.example')).toEqual(['john.doe@literal.example']);
    expect(await actorsOf('ctl (corp\\ALICE)')).toEqual(['ctl (CORP\\alice)']);
    for (const nobody of ['%', '_______%', 'john_doe@literal.example\\', '\\'])
      expect(await actorsOf(nobody)).toEqual([]);
  });

  it('shows whom owners invited, and from where people sign in, to owners only', async () => {
    const org = await fixture.org('Private trail');
    const owner = await fixture.user(org, 'owner');
    const { userId } = owner;
    const email = 'invited@private.example';
    const { id } = value(await fixture.control.createInvitation(owner, { org, email, role: 'viewer' }));
    value(await fixture.control.withdrawInvitation(owner, { org, id }));
    const event = { action: 'account.signIn', account: { userId }, address: '203.0.113.7' } as const;
    await recordAccountEvent({ db: db(), now: clock.now }, event);
    for (const role of ['member', 'viewer'] as const) {
      const seen = JSON.stringify(await list(org, {}, await fixture.user(org, role)));
      expect(seen).toContain('member.invite');
      expect(seen).toContain('account.signIn');
      expect(seen).not.toContain(email);
      expect(seen).not.toContain('203.0.113');
    }
    for (const all of [owner, OPERATOR]) {
      const seen = JSON.stringify(await list(org, {}, all));
      expect(seen).toContain(email);
      expect(seen).toContain('203.0.113.0/24');
    }
  });

  it('names the system user of an operator', async () => {
    const org = await fixture.org('By alice');
    const alice = { kind: 'operator', systemUser: 'alice' } as const;
    value(await fixture.control.setOrgPlan(alice, { org, plan: 'Starter' }));
    expect(await list(org, { action: 'org.setPlan' })).toEqual([
      expect.objectContaining({ actor: 'ctl (alice)', details: { plan: 'Starter', from: 'Pro' } }),
    ]);
  });

  it('says where a model runs by the origin of its URLs or the hash of its command, and about its key only that there is one', async () => {
    const org = await fixture.org('Origins');
    const model = { org, kind: 'text', contextTokens: 1, upstreamKey: 'sk-secret' } as const;
    const urls = ['https://gpu.example:8000/token-in-path/v1', 'https://gpu.example:8000/other/v1'];
    value(await fixture.control.publishModel(OPERATOR, { ...model, name: 'u', mode: 'always_on', urls }));
    const command = 'serve --api-key hidden';
    const { upstreamKey: _, ...keyless } = model;
    const published = { ...keyless, name: 'c', mode: 'wake_on_request', command } as const;
    value(await fixture.control.publishModel(OPERATOR, published));
    const events = await list(org, { action: 'model.publish' });
    const details = new Map(events.map((event) => [event.details.name, event.details]));
    expect(details.get('u')).toMatchObject({ origins: ['https://gpu.example:8000'], upstreamKey: true });
    expect(details.get('c')).toMatchObject({
      commandSha256: createHash('sha256').update(command).digest('hex'),
      upstreamKey: false,
    });
    expect(JSON.stringify(events)).not.toMatch(/token-in-path|hidden|sk-secret/);
  });
});
