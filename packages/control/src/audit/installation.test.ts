import { beforeEach, describe, expect, it } from '@jest/globals';
import { newModelId, newUserId, seal } from '@tidegate/contracts';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createControl } from '../control.ts';
import { createFixture, type Fixture, OPERATOR, refusal, SECRET_KEY, value } from '../fixture.ts';
import type { ListInstallationAuditInput } from './list.ts';
import { recordOperatorAct } from './record.ts';

const ALICE = { kind: 'operator', systemUser: 'alice' } as const;
const PLAN = {
  keys: 1,
  requestsPerMonth: 1,
  requestsPerMinute: 1,
  requestsAtOnce: 1,
  tokensPerMonth: 1,
  images: false,
};

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();
beforeEach(async () => {
  fixture = createFixture(db(), clock.now);
  await db().auditEvent.deleteMany();
});

const list = async (input: ListInstallationAuditInput = {}) =>
  value(await fixture.control.listInstallationAudit(OPERATOR, input)).events;

async function account(email: string): Promise<string> {
  const id = newUserId();
  await db().user.create({ data: { id, email, name: 'Loner' } });
  await db().passkey.create({
    data: {
      ...{ id: `pk_${id}`, userId: id, publicKey: 'k', credentialID: id, counter: 0 },
      ...{ deviceType: 'singleDevice', backedUp: false },
    },
  });
  await db().twoFactor.create({ data: { id: `tf_${id}`, userId: id, secret: 's', backupCodes: '' } });
  await db().account.create({ data: { id: `a_${id}`, accountId: id, providerId: 'oidc', userId: id } });
  return id;
}

describe("the installation's trail", () => {
  it('gets the change of a plan in one statement with the trails of thousands of organizations', async () => {
    await db().$executeRaw`
      INSERT INTO org (id, slug, name, plan_id) SELECT 'org_' || lpad(i::text, 12, '0'), 'many-' || i, 'Many', 'plan_starter'
      FROM generate_series(1, 6000) AS i`;
    await db().$executeRaw`CREATE TABLE statements (at timestamptz DEFAULT now())`;
    await db().$executeRawUnsafe(`CREATE FUNCTION note_statement() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO statements DEFAULT VALUES; RETURN NULL; END $$`);
    await db().$executeRaw`
      CREATE TRIGGER note AFTER INSERT ON audit_event FOR EACH STATEMENT EXECUTE FUNCTION note_statement()`;
    value(await fixture.control.setPlan(ALICE, { name: 'Starter', requestsAtOnce: 31 }));
    expect(await db().$queryRaw`SELECT count(*)::int AS count FROM statements`).toEqual([{ count: 1 }]);
    await db().$executeRaw`DROP TRIGGER note ON audit_event`;
    const details = { name: 'Starter', requestsAtOnce: 31 };
    const same = { actor: 'ctl (alice)', action: 'plan.set', target: 'plan_starter', details };
    expect(await list()).toMatchObject([same]);
    const { events } = value(await fixture.control.listAudit(OPERATOR, { org: 'many-6000' }));
    expect(events).toMatchObject([same]);
    expect(await db().auditEvent.count()).toBe(6_001);
    await db().org.deleteMany({ where: { name: 'Many' } });
  });

  it('names the system user who created or changed a plan or a pool that no organization uses', async () => {
    const { control } = fixture;
    const { id } = value(await control.setPlan(ALICE, { name: 'Unused', ...PLAN }));
    clock.advance(1);
    value(await control.setPlan(ALICE, { name: 'Unused', requestsAtOnce: 7 }));
    clock.advance(1);
    value(await control.setPool(ALICE, { name: 'local', capacity: 80 }));
    const actor = 'ctl (alice)';
    expect(await list()).toMatchObject([
      { actor, action: 'pool.set', target: 'local', details: { name: 'local', capacity: 80 } },
      { actor, action: 'plan.set', target: id, details: { name: 'Unused', requestsAtOnce: 7 } },
      { actor, action: 'plan.create', target: id, details: { name: 'Unused', ...PLAN, offered: false } },
    ]);
  });

  it('names who changed or deleted an account that belongs to no organization', async () => {
    const { control } = fixture;
    const email = 'loner@example.com';
    const id = await account(email);
    for (const act of ['setPassword', 'resetTwoFactor', 'resetIdentity', 'deleteAccount'] as const) {
      value<unknown>(await control[act](ALICE, { email }));
      clock.advance(1);
    }
    const event = { actor: 'ctl (alice)', target: id, details: { email } };
    const actions = ['member.setPassword', 'member.resetTwoFactor', 'member.resetIdentity', 'account.delete'];
    expect(await list()).toMatchObject(actions.reverse().map((action) => ({ ...event, action })));
  });

  it('names who deleted an organization, which it knows by its id only', async () => {
    const org = await fixture.org('Gone for good');
    const { id: orgId } = await db().org.findUniqueOrThrow({ where: { slug: org } });
    value(await fixture.control.deleteOrg(ALICE, { org, confirm: 'Gone for good' }));
    expect(await list({ action: 'org' })).toEqual([
      expect.objectContaining({ actor: 'ctl (alice)', action: 'org.delete', target: orgId, details: {} }),
    ]);
    value(await fixture.control.deleteOrg(ALICE, { org: orgId, confirm: '' }));
    expect(await list({ action: 'org' })).toHaveLength(1);
    expect(await db().auditEvent.findMany({ where: { orgId } })).toEqual([]);
  });

  it('names who resealed upstream keys, once for all of them, and not when there was nothing to do', async () => {
    const previousSecretKey = Buffer.alloc(32, 1);
    const { id: orgId } = await db().org.findUniqueOrThrow({ where: { slug: await fixture.org('Sealed') } });
    const rows = ['a', 'b'].map((name) => ({
      ...({ id: newModelId(), orgId, name, kind: 'text', mode: 'always_on', contextTokens: 1 } as const),
      ...({ driver: 'external', settings: {}, condition: 'running' } as const),
      upstreamKey: Uint8Array.from(seal(name === 'a' ? previousSecretKey : Buffer.alloc(32, 2), 'sk')),
    }));
    await db().model.createMany({ data: rows });
    const { limiter, runner } = fixture;
    const control = createControl({
      ...{ db: db(), limiter, runner, now: clock.now },
      ...{ secretKey: SECRET_KEY, previousSecretKey },
    });
    for (let times = 0; times < 2; times++) value(await control.resealSecrets(ALICE));
    expect(await list({ action: 'secrets.reseal' })).toEqual([
      expect.objectContaining({
        actor: 'ctl (alice)',
        details: { resealed: 1, unchanged: 0, unreadable: 1 },
      }),
    ]);
  });

  it('also has events that organizations have in their own trails, and keeps them when the organizations are gone', async () => {
    const { control } = fixture;
    const org = await fixture.org('Of a plan', 'Starter');
    const { email } = await fixture.user(org, 'member');
    value(await control.setPlan(ALICE, { name: 'Starter', requestsAtOnce: 9 }));
    value(await control.setPassword(ALICE, { email }));
    const actions = async () => (await list()).map(({ action }) => action).sort();
    expect(await actions()).toEqual(['member.setPassword', 'plan.set']);
    const own = value(await control.listAudit(OPERATOR, { org })).events;
    expect(own.map(({ action }) => action)).toEqual(expect.arrayContaining(await actions()));
    value(await control.deleteOrg(ALICE, { org, confirm: 'Of a plan' }));
    expect(await actions()).toEqual(['member.setPassword', 'org.delete', 'plan.set']);
  });

  it('has nothing of users, and nothing that operators did within an organization', async () => {
    const { control } = fixture;
    const org = await fixture.org('Only its own');
    const owner = await fixture.user(org, 'owner');
    const member = await fixture.user(org, 'member');
    value(await control.createKey(ALICE, { org, name: 'k' }));
    value(await control.deleteAccount(member, { email: member.email }));
    value(await control.deleteOrg(owner, { org, confirm: 'Only its own' }));
    expect(await list()).toEqual([]);
  });

  it('is filtered and paged as that of an organization is, and its pages begin at its own events only', async () => {
    for (const target of ['1', '2', '3', '4']) {
      await recordOperatorAct({ db: db(), now: clock.now }, ALICE, {
        action: 'queue.replay',
        target,
        details: {},
      });
      clock.advance(1);
    }
    const bob = { kind: 'operator', systemUser: 'bob' } as const;
    const event = { action: 'queue.replay', target: '5', details: {} } as const;
    await recordOperatorAct({ db: db(), now: clock.now }, bob, event);
    const targets = async (input: ListInstallationAuditInput) =>
      (await list(input)).map(({ target }) => target);
    const input = { actor: 'CTL (alice)', limit: 3 };
    const first = value(await fixture.control.listInstallationAudit(OPERATOR, input));
    expect(first.events.map(({ target }) => target)).toEqual(['4', '3', '2']);
    expect(await targets({ ...input, before: first.next ?? '' })).toEqual(['1']);
    expect(await targets({ action: 'plan' })).toEqual([]);
    const org = await fixture.org('Elsewhere');
    const [elsewhere] = value(await fixture.control.listAudit(OPERATOR, { org })).events;
    const before = { before: elsewhere?.id ?? '' };
    expect(refusal(await fixture.control.listInstallationAudit(OPERATOR, before)).field).toBe('before');
    const here = { before: first.events[0]?.id ?? '' };
    expect(refusal(await fixture.control.listAudit(OPERATOR, { org, ...here })).field).toBe('before');
  });

  it('is for operators only', async () => {
    const owner = await fixture.user(await fixture.org('Curious'), 'owner');
    expect(refusal(await fixture.control.listInstallationAudit(owner, {})).code).toBe('forbidden');
  });
});
