import { beforeEach, describe, expect, it } from '@jest/globals';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

const DAY_MS = 86_400_000;
const clock = testClock();
const db = ownTestDb();
let fixture: Fixture;
let org: string;

beforeEach(async () => {
  fixture = createFixture(db(), clock.now);
  org = await fixture.org('Show');
});

const publish = async (): Promise<string> =>
  value(
    await fixture.control.publishModel(OPERATOR, {
      org,
      name: 'm',
      kind: 'text',
      mode: 'always_on',
      contextTokens: 100,
      urls: ['http://gpu/secret-path'],
      upstreamKey: 'sk-secret',
      upstreamModel: 'up',
    }),
  ).id;

const DOWN = { baseUrl: 'http://gpu/secret-path', reason: 'nothing answers' };

describe('one model', () => {
  it('is shown with its activity, and its conditions of the last 35 days, newest first', async () => {
    const id = await publish();
    fixture.runner.busy = new Map([[id, 3]]);
    fixture.runner.counts = new Map([[id, { up: 1, total: 2, down: [DOWN] }]]);
    const at = (days: number) => new Date(clock.now() - days * DAY_MS);
    await db().conditionChange.createMany({
      data: [
        { modelId: id, condition: 'stopped', at: at(36) },
        { modelId: id, condition: 'starting', at: at(2) },
        { modelId: id, condition: 'failed', at: at(1), reason: 'No answer.' },
      ],
    });
    const shown = value(await fixture.control.showModel(OPERATOR, { org, id }));
    expect(shown).toMatchObject({ id, name: 'm', inFlight: 3, conditionAt: at(0).toISOString() });
    expect(shown.replicas).toEqual({ up: 1, total: 2 });
    expect(shown.down).toEqual([DOWN]);
    expect(shown.changes).toEqual([
      { condition: 'failed', reason: 'No answer.', at: at(1).toISOString() },
      { condition: 'starting', reason: null, at: at(2).toISOString() },
    ]);
    fixture.runner.away = true;
    const unknown = value(await fixture.control.showModel(OPERATOR, { org, id }));
    expect([unknown.inFlight, unknown.replicas]).toEqual([null, null]);
  });

  it('is returned with its replicas after each change to it, while it runs', async () => {
    const id = await publish();
    fixture.runner.counts = new Map([[id, { up: 1, total: 2, down: [DOWN] }]]);
    const model = { org, name: 'm' };
    const { startModel, stopModel, changeModel, deleteModel } = fixture.control;
    const starting = value(await startModel(OPERATOR, model));
    expect(starting).toMatchObject({ condition: 'starting', replicas: null });
    fixture.runner.started = 'running';
    const running = { condition: 'running', replicas: { up: 1, total: 2 } };
    expect(value(await startModel(OPERATOR, model))).toMatchObject(running);
    expect(value(await changeModel(OPERATOR, { ...model, contextTokens: 8 }))).toMatchObject(running);
    expect(value(await stopModel(OPERATOR, model))).toMatchObject({ condition: 'stopped', replicas: null });
    value(await deleteModel(OPERATOR, model));
  });

  it('is found by its name, and shows what runs to operators only', async () => {
    const published = { org, kind: 'text', contextTokens: 10 } as const;
    const { publishModel, showModel } = fixture.control;
    const command = { ...published, name: 'c', mode: 'wake_on_request', command: 'serve --key K' } as const;
    const { id } = value(await publishModel(OPERATOR, command));
    const shown = value(await showModel(OPERATOR, { org, name: 'c' }));
    expect(shown).toMatchObject({ id, run: { command: 'serve --key K', workload: null } });
    const owner = await fixture.user(org, 'owner');
    expect(value(await showModel(owner, { org, name: 'c' })).run).toBeNull();
    const workload = {
      ...published,
      name: 'k',
      mode: 'always_on',
      kubernetes: 'ns/llama',
      service: 's:http',
    };
    value(await publishModel(OPERATOR, { ...workload, mode: 'always_on' }));
    expect(value(await showModel(OPERATOR, { org, name: 'k' })).run).toEqual({
      ...{ command: null, workload: 'ns/deployment/llama', service: 's:http', replicas: null },
    });
    expect(refusal(await showModel(OPERATOR, { org, name: 'none' }))).toMatchObject({ field: 'name' });
    expect(refusal(await showModel(OPERATOR, { org })).code).toBe('invalid_input');
  });

  it('shows its settings to owners only, and its upstream key to nobody', async () => {
    const id = await publish();
    fixture.runner.counts = new Map([[id, { up: 1, total: 2, down: [DOWN] }]]);
    const seenBy = async (role: 'owner' | 'member') =>
      value(await fixture.control.showModel(await fixture.user(org, role), { org, id }));
    expect((await seenBy('owner')).settings).toEqual({
      urls: ['http://gpu/secret-path/v1'],
      upstreamModel: 'up',
      hasUpstreamKey: true,
      healthPath: null,
      startTimeoutS: null,
    });
    const seen = JSON.stringify([await seenBy('owner'), await seenBy('member')]);
    expect(seen).not.toContain('sk-secret');
    expect((await seenBy('owner')).down).toEqual([DOWN]);
    expect(await seenBy('member')).toMatchObject({ settings: null, down: [], replicas: { up: 1, total: 2 } });
    expect(JSON.stringify(await seenBy('member'))).not.toContain('secret-path');
  });

  it('shows what its process printed to owners only, who see why it failed like everyone', async () => {
    const id = await publish();
    const conditionReason = 'It ended.\nlast words';
    await db().model.update({ where: { id }, data: { condition: 'failed', conditionReason } });
    for (const [role, seen] of [
      ['owner', conditionReason],
      ['member', 'It ended.'],
      ['viewer', 'It ended.'],
    ] as const) {
      const actor = await fixture.user(org, role);
      const listed = value(await fixture.control.listModels(actor, { org })).find((one) => one.id === id);
      expect(listed?.conditionReason).toBe(seen);
      expect(value(await fixture.control.showModel(actor, { org, id })).conditionReason).toBe(seen);
    }
  });

  it('shows the URL where no API was found: whole to owners, without its path to others, now and before', async () => {
    const id = await publish();
    const at = 'No chat completions API at';
    const reason = `${at} http://gpu:8000/secret-path/v1: /models answered 404. Or https://b/secret-path.`;
    await db().model.update({ where: { id }, data: { condition: 'failed', conditionReason: reason } });
    await db().conditionChange.create({
      data: { modelId: id, condition: 'failed', reason, at: new Date(clock.now() - 1) },
    });
    for (const [role, seen] of [
      ['owner', reason],
      ['viewer', `${at} http://gpu:8000: /models answered 404. Or https://b.`],
    ] as const) {
      const actor = await fixture.user(org, role);
      const listed = value(await fixture.control.listModels(actor, { org })).find((one) => one.id === id);
      const shown = value(await fixture.control.showModel(actor, { org, id }));
      expect([listed?.conditionReason, shown.conditionReason]).toEqual([seen, seen]);
      expect(shown.changes.map((change) => change.reason)).toContain(seen);
      if (role === 'viewer') expect(JSON.stringify([listed, shown])).not.toContain('secret-path');
    }
  });

  it('never shows a command, not even to the owner', async () => {
    const id = value(
      await fixture.control.publishModel(OPERATOR, {
        org,
        name: 'c',
        kind: 'text',
        mode: 'wake_on_request',
        contextTokens: 100,
        command: 'serve --token secret-token',
        startTimeoutS: 30,
      }),
    ).id;
    const shown = value(await fixture.control.showModel(await fixture.user(org, 'owner'), { org, id }));
    expect(shown.settings).toMatchObject({ urls: null, startTimeoutS: 30 });
    expect(JSON.stringify(shown)).not.toContain('secret-token');
  });

  it('is not found once it is deleted, nor in another organization', async () => {
    const id = await publish();
    const elsewhere = await fixture.org('Elsewhere');
    expect(refusal(await fixture.control.showModel(OPERATOR, { org: elsewhere, id })).code).toBe('not_found');
    value(await fixture.control.deleteModel(OPERATOR, { org, name: 'm' }));
    expect(refusal(await fixture.control.showModel(OPERATOR, { org, id })).code).toBe('not_found');
  });
});

describe('one key', () => {
  it('is shown with who created it, and when it was revoked, for as long as the trail says so', async () => {
    const owner = await fixture.user(org, 'owner');
    const { id, key } = value(await fixture.control.createKey(owner, { org, name: 'k' }));
    const show = async () => value(await fixture.control.showKey(owner, { org, id }));
    expect(await show()).toMatchObject({ id, name: 'k', createdBy: owner.email, revokedAt: null });
    value(await fixture.control.revokeKey(owner, { org, id }));
    expect(await show()).toMatchObject({ revokedAt: new Date(clock.now()).toISOString() });
    expect(JSON.stringify(await show())).not.toContain(key);
    await db().auditEvent.deleteMany({ where: { target: id } });
    expect((await show()).createdBy).toBeNull();
  });
});
