import { beforeEach, describe, expect, it } from '@jest/globals';
import { unseal } from '@tidegate/contracts';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { verifyPassword } from 'better-auth/crypto';
import type { Actor } from './access/access.ts';
import { type Action, POLICY, ROLES } from './access/policy.ts';
import { createFixture, type Fixture, OPERATOR, refusal, SECRET_KEY, value } from './fixture.ts';
import { baseUrlOf } from './models/input.ts';
import { slugOf } from './orgs/slug.ts';
import type { ControlRefusal } from './result.ts';

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();

beforeEach(() => {
  fixture = createFixture(db(), clock.now);
});

const external = {
  kind: 'text' as const,
  mode: 'always_on' as const,
  contextTokens: 4_096,
  urls: ['http://127.0.0.1:9'],
};
const process_ = {
  kind: 'text',
  mode: 'wake_on_request',
  contextTokens: 4_096,
  command: 'serve --port $PORT',
} as const;

describe('roles', () => {
  type Operation = (actor: never, input: never) => Promise<{ ok: boolean; refusal?: ControlRefusal }>;
  const email = 'x@example.com';
  /** Every operation on an organization: the action it requires, and an input. */
  const GUARDED: { readonly [K in keyof Fixture['control']]?: readonly [Action, object] } = {
    setOrgPlan: ['org.setPlan', { plan: 'Pro' }],
    deleteOrg: ['org.delete', { confirm: 'not its name' }],
    requireTwoFactor: ['org.requireTwoFactor', { required: true }],
    addMember: ['member.add', { email, role: 'viewer' }],
    listMembers: ['member.list', {}],
    setMemberRole: ['member.setRole', { email, role: 'member' }],
    removeMember: ['member.remove', { email }],
    createInvitation: ['member.invite', { email, role: 'viewer' }],
    listInvitations: ['member.invite', {}],
    withdrawInvitation: ['member.invite', { id: 'inv_x' }],
    showKey: ['key.list', { id: 'key_x' }],
    createKey: ['key.create', { name: 'k' }],
    createPageKey: ['key.create', { session: 'ses_x' }],
    endPageKey: ['org.read', { id: 'key_x' }],
    listKeys: ['key.list', {}],
    revokeKey: ['key.revoke', { id: 'key_x' }],
    deleteKey: ['key.delete', { id: 'key_x' }],
    listModels: ['model.list', {}],
    showModel: ['model.list', { id: 'mdl_x' }],
    tryModel: ['model.try', {}],
    tryKey: ['model.try', { key: 'ti_x' }],
    publishModel: ['model.publish', { name: 'm', ...external }],
    publishFound: ['model.publish', { server: { url: 'http://127.0.0.1:1/v1' }, model: { name: 'found' } }],
    checkModel: ['model.publish', { urls: ['http://127.0.0.1:9'] }],
    checkChange: ['model.change', { name: 'm', contextTokens: 1 }],
    changeModel: ['model.change', { name: 'm', contextTokens: 1 }],
    startModel: ['model.start', { name: 'm' }],
    stopModel: ['model.stop', { name: 'm' }],
    deleteModel: ['model.delete', { name: 'm' }],
    showAttention: ['usage.show', {}],
    showUsage: ['usage.show', {}],
    showUsageOfStep: ['usage.show', { step: '2026-11-21' }],
    listRequests: ['request.list', {}],
    showRequest: ['request.list', { id: 'a'.repeat(24) }],
    showErrors: ['request.list', {}],
    showRefusals: ['usage.show', {}],
    listAudit: ['audit.list', {}],
    // The last one: afterwards the actor is no longer a member.
    leaveOrg: ['member.leave', {}],
  };
  /**
   * Operations for operators or for holders of an invitation, or about the actor or the
   * installation. They have tests of their own.
   */
  const OTHERS = [
    ...[
      'acceptInvitation',
      'bootstrap',
      'createOrg',
      'deleteAccount',
      'endPageKeys',
      'listInstallationAudit',
      'listMemberships',
      'listOrgs',
      'listPlans',
      'listPools',
      'openInvitation',
      'resealSecrets',
      'resetIdentity',
      'resetTwoFactor',
      'setPassword',
      'setPlan',
      'setPool',
    ],
  ];

  it('are checked by every operation there is', () => {
    expect([...Object.keys(GUARDED), ...OTHERS].sort()).toEqual(Object.keys(fixture.control).sort());
  });

  it('guard operations that refuse an input of another type in words, and name the field', async () => {
    const org = await fixture.org('Other types');
    // Only ctl publishes what it has found, and its input is what was found.
    const { publishFound: _, ...taken } = GUARDED;
    for (const [name, [, input]] of Object.entries(taken)) {
      const operation = fixture.control[name as keyof Fixture['control']] as unknown as Operation;
      const refused = async (given: unknown) => {
        const result = await operation(OPERATOR as never, given as never);
        return { name, given, ...result.refusal };
      };
      for (const given of [undefined, null, 'x', 5])
        expect(await refused(given)).toMatchObject({ message: expect.stringMatching(/^The input must /) });
      for (const field of Object.keys({ org, ...input }))
        for (const value of [['x', 5], { x: 5 }, null])
          expect(await refused({ org, ...input, [field]: value })).toMatchObject({
            field,
            message: expect.not.stringMatching(/^Invalid|expected/),
          });
    }
    const name = 'k';
    expect(refusal(await fixture.control.createKey(OPERATOR, { org, name, models: [5 as never] }))).toEqual({
      code: 'invalid_input',
      field: 'models',
      message: 'Choose 1 to 50 published models, or all models.',
    });
    expect(refusal(await fixture.control.createKey(OPERATOR, undefined as never)).message).toBe(
      'The input must be an object with: org, name, models, requestsPerMinute, requestsAtOnce, expiresOn.',
    );
  });

  it.each([...ROLES, 'stranger'] as const)(
    'let a %s do exactly what the policy says [service.everyone-sees] [service.roles]',
    async (role) => {
      const org = await fixture.org(`Roles ${role}`);
      await fixture.user(org, 'owner');
      const own = role === 'stranger' ? await fixture.org('Of the stranger') : org;
      const actor = await fixture.user(own, role === 'stranger' ? 'owner' : role);
      for (const [name, [action, input]] of Object.entries(GUARDED)) {
        const operation = fixture.control[name as keyof Fixture['control']] as unknown as Operation;
        const result = await operation(actor as never, { org, ...input } as never);
        if (role === 'stranger')
          expect({ name, refusal: result.refusal }).toMatchObject({
            name,
            refusal: { field: 'org', code: 'not_found' },
          });
        else
          expect({ name, forbidden: result.refusal?.code === 'forbidden' }).toEqual({
            name,
            forbidden: !(POLICY[action] as readonly string[]).includes(role),
          });
      }
    },
  );

  it('let viewers do nothing but look and leave, and only owners change what is managed [auth.owners] [service.owners-manage] [state.key.revoked.owner] [state.model.stopped.owner]', () => {
    const allowed = (role: string) =>
      Object.entries(POLICY).filter(([, roles]) => (roles as readonly string[]).includes(role));
    for (const [action] of allowed('viewer')) expect(action).toMatch(/\.(read|list|show|leave)$/);
    for (const [action] of allowed('member')) expect(action).toMatch(/\.(read|list|show|leave|try)$/);
    expect(allowed('owner')).toHaveLength(Object.keys(POLICY).length);
  });

  it("hide other organizations, which are refused like ones that do not exist, and lists show only one's own", async () => {
    const ours = await fixture.org('Mine');
    const theirs = await fixture.org('Hidden');
    const owner = await fixture.user(ours, 'owner');
    const key = value(await fixture.control.createKey(OPERATOR, { org: theirs, name: 'k' }));
    const refused = refusal(await fixture.control.listKeys(owner, { org: theirs }));
    expect(refused.message.replace(theirs, 'nowhere')).toBe(
      refusal(await fixture.control.listKeys(owner, { org: 'nowhere' })).message,
    );
    expect(refusal(await fixture.control.revokeKey(owner, { id: key.id }))).toEqual({
      ...refusal(await fixture.control.revokeKey(owner, { id: 'key_x' })),
      message: `There is no key "${key.id}".`,
    });
    expect(value(await fixture.control.listOrgs(owner)).map((org) => org.slug)).toEqual([ours]);
    expect(fixture.limiter.revoked).toEqual([]);
  });

  it('are named to those who would need another one', async () => {
    const org = await fixture.org('Named roles');
    const viewer = await fixture.user(org, 'viewer');
    const said = (result: Parameters<typeof refusal>[0]) => refusal(result).message;
    expect(said(await fixture.control.deleteKey(viewer, { org, id: 'key_x' }))).toBe(
      'Only owners may do this.',
    );
    expect(said(await fixture.control.tryModel(viewer, { org }))).toBe(
      'Only owners and members may do this.',
    );
  });

  it('keep from owners what is for operators', async () => {
    const owner = await fixture.user(await fixture.org('Plain'), 'owner');
    expect(refusal(await fixture.control.createOrg(owner, { name: 'More' })).code).toBe('forbidden');
    expect(refusal(await fixture.control.setPlan(owner, { name: 'Free', keys: 50 })).code).toBe('forbidden');
  });
});

describe('organizations', () => {
  it('each get a slug of their own, even when many take the same name at once', async () => {
    const names = Array.from({ length: 6 }, () => 'Ærø & Søn GmbH');
    const created = await Promise.all(names.map((name) => fixture.control.createOrg(OPERATOR, { name })));
    const slugs = created.map((result) => value(result).slug);
    expect(new Set(slugs).size).toBe(6);
    for (const slug of slugs) expect(slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
    expect(value(created[0] as never)).toMatchObject({ plan: 'Free' });
  });

  it.each([
    ['Acme, Inc.', 'acme-inc'],
    ['Crème Brûlée', 'creme-brulee'],
    ['東京', 'org'],
    ['  --  ', 'org'],
  ])('have a slug made from the name %j', (name, slug) => expect(slugOf(name)).toBe(slug));

  it('name the plans there are if one is unknown', async () => {
    const refused = refusal(await fixture.control.createOrg(OPERATOR, { name: 'X', plan: 'Gold' }));
    expect(refused).toMatchObject({
      code: 'not_found',
      field: 'plan',
      message: expect.stringContaining('Free, Starter, Pro'),
    });
  });
});

describe('plans', () => {
  const versionOf = async (slug: string) =>
    (await db().org.findUniqueOrThrow({ where: { slug } })).limitsVersion;

  it('put new values in force for every organization on the plan, and for no other', async () => {
    const [a, b, other] = [
      await fixture.org('A', 'Starter'),
      await fixture.org('B', 'Starter'),
      await fixture.org('C', 'Pro'),
    ];
    const before = [await versionOf(a), await versionOf(b), await versionOf(other)];
    const plan = value(await fixture.control.setPlan(OPERATOR, { name: 'starter', requestsPerMinute: 700 }));
    expect(plan).toMatchObject({
      name: 'Starter',
      requestsPerMinute: 700,
      requestsAtOnce: 32,
      images: false,
    });
    const [va, vb, vo] = before as [bigint, bigint, bigint];
    expect([await versionOf(a), await versionOf(b), await versionOf(other)]).toEqual([va + 1n, vb + 1n, vo]);
    const ids = await db().org.findMany({ where: { slug: { in: [a, b] } } });
    expect(fixture.limiter.refreshed).toEqual(expect.arrayContaining(ids.map((org) => org.id)));
  });

  it('leave each change of their limits in the trails of the organizations on them, and of no other', async () => {
    const orgs = [await fixture.org('On Free', 'Free'), await fixture.org('On Pro', 'Pro')];
    const alice = { kind: 'operator', systemUser: 'alice' } as const;
    value(await fixture.control.setPlan(alice, { name: 'free', keys: 7 }));
    const trails = orgs.map(async (org) =>
      value(await fixture.control.listAudit(OPERATOR, { org, action: 'plan.set' })).events.map(
        ({ actor, details }) => ({ actor, details }),
      ),
    );
    expect(await Promise.all(trails)).toEqual([
      [{ actor: 'ctl (alice)', details: { name: 'Free', keys: 7 } }],
      [],
    ]);
  });

  it('report a change that is saved but not in force, and doing it again puts it in force', async () => {
    const org = await fixture.org('Later', 'Free');
    fixture.limiter.away = true;
    expect(await fixture.control.setOrgPlan(OPERATOR, { org, plan: 'pro' })).toMatchObject({
      value: { plan: 'Pro' },
      notInForce: expect.stringContaining('not in force'),
    });
    fixture.limiter.away = false;
    const again = await fixture.control.setOrgPlan(OPERATOR, { org, plan: 'pro' });
    expect(value(again).plan).toBe('Pro');
    expect(again).not.toHaveProperty('notInForce');
    expect(fixture.limiter.refreshed).toHaveLength(1);
  });

  it('of others can be neither seen nor chosen by an owner', async () => {
    const limits = { keys: 5, requestsPerMonth: 10, requestsPerMinute: 1, requestsAtOnce: 1 };
    const all = { ...limits, tokensPerMonth: 20, images: false };
    for (const name of ['Acme', 'Other'])
      expect(value(await fixture.control.setPlan(OPERATOR, { name, ...all })).offered).toBe(false);
    const [org, more] = [await fixture.org('A', 'Acme'), await fixture.org('B', 'Starter')];
    const owner = await fixture.user(org, 'owner');
    const names = async (actor: Actor, at?: { org: string }) =>
      value(await fixture.control.listPlans(actor, at)).map(({ name }) => name);
    const offered = ['Free', 'Starter', 'Pro'];
    expect(await names(OPERATOR)).toEqual(expect.arrayContaining([...offered, 'Acme', 'Other']));
    expect(await names(owner)).toEqual([...offered, 'Acme']);
    expect(await names(owner, { org })).toEqual([...offered, 'Acme']);
    expect(refusal(await fixture.control.listPlans(owner, { org: more })).code).toBe('not_found');
    const unknown = refusal(await fixture.control.setOrgPlan(owner, { org, plan: 'None' }));
    const hidden = refusal(await fixture.control.setOrgPlan(owner, { org, plan: 'Other' }));
    expect(hidden).toEqual({ ...unknown, message: unknown.message.replace('"None"', '"Other"') });
    expect(hidden.message).toMatch(/Plans: Free, Starter, Pro, Acme\.$/);
    expect(value(await fixture.control.setOrgPlan(owner, { org, plan: 'Acme' })).plan).toBe('Acme');
    expect(value(await fixture.control.setOrgPlan(owner, { org, plan: 'Free' })).plan).toBe('Free');
    expect(refusal(await fixture.control.setOrgPlan(owner, { org, plan: 'Acme' })).code).toBe('not_found');
    value(await fixture.control.setPlan(OPERATOR, { name: 'Other', offered: true }));
    expect(value(await fixture.control.setOrgPlan(owner, { org, plan: 'Other' })).plan).toBe('Other');
    expect(value(await fixture.control.setOrgPlan(OPERATOR, { org, plan: 'Acme' })).plan).toBe('Acme');
  });

  it('are created if all values are given; otherwise the refusal says what is missing', async () => {
    const all = {
      keys: 1,
      requestsPerMonth: 0,
      requestsPerMinute: 1,
      requestsAtOnce: 1,
      tokensPerMonth: 10,
      images: false,
    };
    expect(refusal(await fixture.control.setPlan(OPERATOR, { name: 'Tiny', keys: 1 })).message).toContain(
      'Tokens a month',
    );
    value(await fixture.control.setPlan(OPERATOR, { name: 'Tiny', ...all }));
    expect(value(await fixture.control.listPlans(OPERATOR)).at(-1)).toMatchObject({ name: 'Tiny', ...all });
  });

  it('never allow more keys than the contract [limit.keys]', async () => {
    expect(refusal(await fixture.control.setPlan(OPERATOR, { name: 'Pro', keys: 51 })).message).toContain(
      '1 to 50',
    );
  });
});

describe('members', () => {
  it('get an account that can sign in to the console, with a password that is shown once', async () => {
    const org = await fixture.org('People');
    const { control } = createFixture(db(), clock.now, { hashPassword: undefined });
    const added = value(
      await control.addMember(OPERATOR, { org, email: ' Ada@Example.com ', role: 'owner' }),
    );
    expect(added.email).toBe('ada@example.com');
    const account = await db().account.findFirstOrThrow({
      where: { userId: added.userId, providerId: 'credential' },
    });
    expect(await verifyPassword({ hash: account.password ?? '', password: added.password ?? '' })).toBe(true);
    expect(JSON.stringify(await db().auditEvent.findMany())).not.toContain(added.password);
    expect(JSON.stringify(await fixture.control.listMembers(OPERATOR, { org }))).not.toContain(
      added.password,
    );
  });

  it('are not added with a password that is common or the name of the organization', async () => {
    const org = await fixture.org('Weak Words');
    for (const password of ['sunshine', 'weakwords1']) {
      const input = { org, email: 'ada@weak.example', role: 'viewer', password } as const;
      expect(refusal(await fixture.control.addMember(OPERATOR, input))).toMatchObject({
        code: 'invalid_input',
        field: 'password',
      });
    }
    expect(value(await fixture.control.listMembers(OPERATOR, { org }))).toEqual([]);
  });

  it('are added with the account that their e-mail already has, which stays as it is', async () => {
    const [one, two] = [await fixture.org('One'), await fixture.org('Two')];
    const email = 'both@example.com';
    const first = value(
      await fixture.control.addMember(OPERATOR, {
        org: one,
        email,
        role: 'owner',
        password: 'correct horse',
      }),
    );
    expect(first).toMatchObject({ existed: false, accountSince: first.since });
    expect(first.password).toBeUndefined();
    clock.advance(60_000);
    const again = refusal(
      await fixture.control.addMember(OPERATOR, { org: two, email, role: 'viewer', password: 'another one' }),
    );
    expect(again).toMatchObject({ code: 'conflict', field: 'password' });
    const second = value(await fixture.control.addMember(OPERATOR, { org: two, email, role: 'viewer' }));
    expect(second).toMatchObject({ userId: first.userId, role: 'viewer' });
    expect(second).toMatchObject({ existed: true, accountSince: first.since });
    expect(refusal(await fixture.control.addMember(OPERATOR, { org: two, email, role: 'owner' })).code).toBe(
      'conflict',
    );
  });

  it('always include an owner, even when the last two remove each other at the same time', async () => {
    const org = await fixture.org('Owned');
    const [a, b] = [await fixture.user(org, 'owner'), await fixture.user(org, 'owner')];
    const results = await Promise.all([
      fixture.control.removeMember(a, { org, email: b.email }),
      fixture.control.setMemberRole(b, { org, email: a.email, role: 'viewer' }),
    ]);
    expect(results.filter((result) => result.ok)).toHaveLength(1);
    const members = value(await fixture.control.listMembers(OPERATOR, { org }));
    expect(members.filter((member) => member.role === 'owner')).toHaveLength(1);
  });

  it('have both roles, the old and the new one, in the trail after a change', async () => {
    const org = await fixture.org('Roles');
    const { email } = await fixture.user(org, 'member');
    value(await fixture.control.setMemberRole(OPERATOR, { org, email, role: 'owner' }));
    const { events } = value(await fixture.control.listAudit(OPERATOR, { org, action: 'member.setRole' }));
    expect(events.map(({ details }) => details)).toEqual([{ email, role: 'owner', from: 'member' }]);
  });
});

describe('models', () => {
  it('are published with their upstream key sealed, and the runner is told', async () => {
    const org = await fixture.org('Models');
    const published = value(
      await fixture.control.publishModel(OPERATOR, {
        org,
        name: 'qwen/2.5:7b',
        ...external,
        upstreamKey: 'sk-upstream',
      }),
    );
    expect(published).toMatchObject({
      condition: 'starting',
      runnerReached: true,
      driver: 'external',
      sleepAfterS: null,
    });
    expect(fixture.runner.calls).toEqual([`refresh ${published.id}`]);
    const row = await db().model.findUniqueOrThrow({ where: { id: published.id } });
    expect(row.settings).toEqual({ urls: ['http://127.0.0.1:9/v1'] });
    expect(unseal([SECRET_KEY], row.upstreamKey as Uint8Array)).toBe('sk-upstream');
    expect(JSON.stringify(await db().auditEvent.findMany())).not.toContain('sk-upstream');
    expect(JSON.stringify(value(await fixture.control.listModels(OPERATOR, { org })))).not.toContain(
      'sk-upstream',
    );
  });

  it('are published at URLs with a health path, for servers whose list of models says nothing', async () => {
    const org = await fixture.org('Without a list');
    const model = { org, name: 'm', ...external, healthPath: '/up' };
    const { id } = value(await fixture.control.publishModel(OPERATOR, model));
    const { settings } = await db().model.findUniqueOrThrow({ where: { id } });
    expect(settings).toEqual({ urls: ['http://127.0.0.1:9/v1'], healthPath: '/up' });
  });

  it('are published as a command, with how it is probed and how long it may take to start', async () => {
    const org = await fixture.org('Slow models');
    const slow = { ...process_, healthPath: '/up', startTimeoutS: 3_600 };
    const { id } = value(await fixture.control.publishModel(OPERATOR, { org, name: 'm', ...slow }));
    const { settings } = await db().model.findUniqueOrThrow({ where: { id } });
    expect(settings).toEqual({ command: process_.command, healthPath: '/up', startTimeoutS: 3_600 });
  });

  it('share their name with no other published model', async () => {
    const org = await fixture.org('Names');
    const publish = () => fixture.control.publishModel(OPERATOR, { org, name: 'm', ...process_ });
    const results = await Promise.all([publish(), publish(), publish()]);
    expect(results.filter((result) => result.ok)).toHaveLength(1);
    expect(refusal(results.find((result) => !result.ok) as never).code).toBe('conflict');
    value(await fixture.control.deleteModel(OPERATOR, { org, name: 'm' }));
    expect(refusal(await fixture.control.deleteModel(OPERATOR, { org, name: 'm' })).code).toBe('not_found');
    expect(value(await publish()).condition).toBe('starting');
  });

  it.each([
    [{ ...external, name: '.hidden' }, 'name'],
    [{ ...external, name: 'a b' }, 'name'],
    [{ ...external, name: 'm', contextTokens: 0 }, 'contextTokens'],
    [{ ...external, name: 'm', contextTokens: 16_777_217 }, 'contextTokens'],
    [{ ...external, name: 'm', kind: 'audio' }, 'kind'],
    [{ ...external, name: 'm', mode: 'wake_on_request' }, 'mode'],
    [{ ...external, name: 'm', urls: ['ftp://x'] }, 'urls'],
    [{ ...external, name: 'm', urls: ['http://x', 'http://x/v1/'] }, 'urls'],
    [{ ...external, name: 'm', command: 'serve' }, 'urls'],
    [{ ...process_, name: 'm', command: undefined }, 'urls'],
    [{ ...process_, name: 'm', sleepAfterS: 0 }, 'sleepAfterS'],
    [{ ...process_, name: 'm', startTimeoutS: 86_401 }, 'startTimeoutS'],
    [{ ...external, name: 'm', startTimeoutS: 60 }, 'startTimeoutS'],
    [{ ...external, name: 'm', healthPath: 'up' }, 'healthPath'],
    [{ ...process_, name: 'm', upstreamKey: 'a\nb' }, 'upstreamKey'],
  ])('such as %j are refused for the field %s', async (input, field) => {
    const org = await fixture.org('Bad models');
    expect(refusal(await fixture.control.publishModel(OPERATOR, { org, ...input } as never)).field).toBe(
      field,
    );
  });

  it.each([
    ['http://box:8000', 'http://box:8000/v1'],
    ['https://box/', 'https://box/v1'],
    ['http://box:8000/v1', 'http://box:8000/v1'],
    ['http://box:8000/v1/', 'http://box:8000/v1'],
    ['http://box/llm', 'http://box/llm/v1'],
    ['http://user:pw@box', null],
    ['http://box?x=1', null],
    ['box:8000', null],
    ['', null],
  ])('with the URL %j have the base %j', (url, base) => expect(baseUrlOf(url)).toBe(base));

  it('start and stop through the runner, and not while it is unavailable', async () => {
    const org = await fixture.org('Moves');
    const { id } = value(await fixture.control.publishModel(OPERATOR, { org, name: 'm', ...process_ }));
    expect(value(await fixture.control.stopModel(OPERATOR, { org, name: 'm' })).condition).toBe('stopped');
    expect(value(await fixture.control.startModel(OPERATOR, { org, name: 'm' })).condition).toBe('starting');
    expect(fixture.runner.calls).toEqual([`refresh ${id}`, `stop ${id}`, `start ${id}`]);
    fixture.runner.away = true;
    expect(refusal(await fixture.control.stopModel(OPERATOR, { org, name: 'm' })).code).toBe('unavailable');
    expect(value(await fixture.control.deleteModel(OPERATOR, { org, name: 'm' })).runnerReached).toBe(false);
    expect(value(await fixture.control.listModels(OPERATOR, { org }))).toEqual([]);
  });

  it.each(['model.start', 'model.stop'] as const)(
    'have %s in the audit trail before the runner is asked, which may do it and not answer',
    async (action) => {
      const org = await fixture.org(`Unanswered ${action}`);
      const { id } = value(await fixture.control.publishModel(OPERATOR, { org, name: 'm', ...process_ }));
      const recorded = () => db().auditEvent.findMany({ where: { action, target: id } });
      let before: unknown;
      const act = async () => {
        before = await recorded();
        throw new Error('deadline exceeded');
      };
      Object.assign(fixture.runner, { start: act, stop: act });
      const move = action === 'model.start' ? fixture.control.startModel : fixture.control.stopModel;
      expect(refusal(await move(OPERATOR, { org, name: 'm' })).code).toBe('unavailable');
      expect(before).toMatchObject([{ actor: 'ctl', details: { name: 'm' } }]);
      expect(await recorded()).toEqual(before);
    },
  );

  it('are listed to their own organization alone, with their requests in flight, or without if the runner is unavailable or is not to be asked', async () => {
    const [org, other] = [await fixture.org('Busy'), await fixture.org('Elsewhere')];
    const publish = async (to: string, name: string) =>
      value(await fixture.control.publishModel(OPERATOR, { org: to, name, ...external })).id;
    const [busy, , theirs] = [await publish(org, 'a'), await publish(org, 'b'), await publish(other, 'a')];
    fixture.runner.busy = new Map([
      [busy, 3],
      [theirs, 7],
    ]);
    const viewer = await fixture.user(org, 'viewer');
    const listed = async () =>
      value(await fixture.control.listModels(viewer, { org })).map(({ name, inFlight }) => [name, inFlight]);
    expect(await listed()).toEqual([
      ['a', 3],
      ['b', 0],
    ]);
    const { id } = await db().org.findUniqueOrThrow({ where: { slug: org } });
    expect(fixture.runner.looked).toEqual([id]);
    expect((await fixture.control.listModels(viewer, { org: other })).ok).toBe(false);
    const idle = value(await fixture.control.listModels(viewer, { org, activity: false }));
    expect(idle.map(({ name, inFlight }) => [name, inFlight])).toEqual([
      ['a', null],
      ['b', null],
    ]);
    expect(fixture.runner.looked).toEqual([id]);
    fixture.runner.away = true;
    expect(await listed()).toEqual([
      ['a', null],
      ['b', null],
    ]);
  });
});

describe('usage', () => {
  it('adds up the last days of the organization alone, days without requests included, busiest row first [key.name.shown] [limit.usage-window] [usage.chart] [usage.deleted-key] [usage.table] [usage.totals] [usage.window]', async () => {
    const [org, other] = [await fixture.org('Usage'), await fixture.org('Other')];
    const ids = await db().org.findMany({ where: { slug: { in: [org, other] } } });
    const orgId = ids.find((row) => row.slug === org)?.id ?? '';
    const otherId = ids.find((row) => row.slug === other)?.id ?? '';
    const key = value(await fixture.control.createKey(OPERATOR, { org, name: 'ci' }));
    const model = value(await fixture.control.publishModel(OPERATOR, { org, name: 'm', ...external }));
    await db().$executeRaw`INSERT INTO usage_day VALUES
      (${orgId}, '2026-11-21', ${key.id}, ${model.id}, 10, 1, 100, 50, 4096, 1000, 9),
      (${orgId}, '2026-10-23', ${key.id}, ${model.id}, 5, 0, 10, 10, 0, 500, 5),
      (${orgId}, '2026-10-22', ${key.id}, ${model.id}, 999, 0, 10, 10, 0, 500, 5),
      (${orgId}, '2026-11-20', 'key_gone', 'mdl_gone', 20, 20, 0, 0, 81920, 0, 0),
      (${otherId}, '2026-11-21', 'key_other', 'mdl_other', 7, 0, 1, 1, 0, 1, 1)`;
    const usage = value(await fixture.control.showUsage(OPERATOR, { org }));
    expect(usage.totals).toEqual({
      requests: 35,
      errors: 21,
      promptTokens: 110,
      completionTokens: 60,
      reservedTokens: 86_016,
      averageMs: 107,
      p50Ms: null,
      p95Ms: null,
      firstChunkP50Ms: null,
      firstChunkP95Ms: null,
    });
    expect(usage.days).toHaveLength(30);
    expect(usage.hours).toEqual([]);
    expect(usage.models).toMatchObject([
      { modelId: 'mdl_gone', modelDeleted: true, requests: 20, averageMs: null, p50Ms: null },
      { model: 'm', modelDeleted: false, requests: 15, averageMs: 107 },
    ]);
    expect(usage.days[0]).toMatchObject({ day: '2026-10-23', requests: 5, answered: 5, errors: 0 });
    expect(usage.days.at(-1)).toMatchObject({ day: '2026-11-21', answered: 9, errors: 1 });
    expect(usage.days.filter((day) => day.requests === 0)).toHaveLength(27);
    expect(usage.rows).toMatchObject([
      { key: 'A deleted key', requests: 20, errors: 20, averageMs: null },
      { key: 'ci', keyPrefix: key.prefix, model: 'm', requests: 15 },
    ]);
    expect(value(await fixture.control.showUsage(OPERATOR, { org, days: 1 })).totals.requests).toBe(10);
  });

  it('shows the live month of the limiter, and what is written when the limiter is unavailable', async () => {
    const org = await fixture.org('Month', 'Free');
    const { id } = await db().org.findUniqueOrThrow({ where: { slug: org } });
    await db().monthTotal.create({ data: { orgId: id, month: '2026-11', requests: 6n, chargedTokens: 60n } });
    const month = async () => value(await fixture.control.showUsage(OPERATOR, { org })).month;
    const resetsAt = '2026-12-01T00:00:00.000Z';
    expect(await month()).toMatchObject({
      requests: 7,
      tokens: { charged: 70, reserved: 5, cap: 5_000_000 },
      resetsAt,
      live: true,
    });
    fixture.limiter.away = true;
    expect(await month()).toMatchObject({
      requests: 6,
      tokens: { charged: 60, reserved: 0, cap: 5_000_000 },
      resetsAt,
      live: false,
    });
  });
});
