import { beforeEach, describe, expect, it } from '@jest/globals';
import { unseal } from '@tidegate/contracts';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, SECRET_KEY, value } from '../fixture.ts';

const db = ownTestDb();
let fixture: Fixture;
let org: string;
const external = {
  kind: 'text',
  mode: 'always_on',
  contextTokens: 4_096,
  urls: ['http://127.0.0.1:9'],
} as const;
const process_ = {
  kind: 'text',
  mode: 'wake_on_request',
  contextTokens: 4_096,
  command: 'serve $PORT',
} as const;

beforeEach(async () => {
  fixture = createFixture(db(), testClock().now);
  org = await fixture.org('Change');
});

const publish = async (model: object): Promise<string> =>
  value(await fixture.control.publishModel(OPERATOR, { org, name: 'm', ...model } as never)).id;
const change = (changes: object, actor = OPERATOR) =>
  fixture.control.changeModel(actor, { org, name: 'm', ...changes });
const rowOf = (id: string) => db().model.findUniqueOrThrow({ where: { id } });

describe('a published model', () => {
  it('keeps its id, and each setting that is not changed', async () => {
    const id = await publish({ ...external, upstreamKey: 'sk-old', upstreamModel: 'a', healthPath: '/up' });
    const before = await rowOf(id);
    const changed = value(await change({ urls: ['http://127.0.0.1:8'], contextTokens: 8_192 }));
    expect(changed).toMatchObject({ id, name: 'm', contextTokens: 8_192, runnerReached: true });
    expect(await rowOf(id)).toEqual({
      ...before,
      contextTokens: 8_192,
      settings: { urls: ['http://127.0.0.1:8/v1'], healthPath: '/up' },
      version: 2,
    });
    expect(fixture.runner.calls).toEqual([`refresh ${id}`, `refresh ${id}`]);
  });

  it('takes a new upstream key, sealed, and gives up what is set to null', async () => {
    const id = await publish({ ...external, upstreamKey: 'sk-old', upstreamModel: 'a', healthPath: '/up' });
    value(await change({ upstreamKey: 'sk-new' }));
    expect(unseal([SECRET_KEY], (await rowOf(id)).upstreamKey as Uint8Array)).toBe('sk-new');
    value(await change({ upstreamKey: null, upstreamModel: null, healthPath: null }));
    const { upstreamKey, upstreamModel, settings } = await rowOf(id);
    expect([upstreamKey, upstreamModel, settings]).toEqual([null, null, { urls: ['http://127.0.0.1:9/v1'] }]);
    expect(JSON.stringify(await db().auditEvent.findMany())).not.toMatch(/sk-(old|new)/);
  });

  it('that runs a command takes another command, start timeout and idle time', async () => {
    const id = await publish(process_);
    value(await change({ command: 'serve2 $PORT', startTimeoutS: 60, sleepAfterS: 5 }));
    expect(await rowOf(id)).toMatchObject({
      settings: { command: 'serve2 $PORT', startTimeoutS: 60 },
      sleepAfterS: 5,
    });
  });

  it('keeps both of two changes that are made at once', async () => {
    const id = await publish(external);
    const both = [{ healthPath: '/up' }, { urls: ['http://127.0.0.1:7'] }, { contextTokens: 1 }];
    for (const result of await Promise.all(both.map((one) => change(one)))) value(result);
    expect(await rowOf(id)).toMatchObject({
      contextTokens: 1,
      settings: { urls: ['http://127.0.0.1:7/v1'], healthPath: '/up' },
      version: 4,
    });
  });

  it('is audited with the names of what was changed, and whether a changed key is set', async () => {
    const id = await publish(external);
    const owner = await fixture.user(org, 'owner');
    value(await change({ upstreamKey: 'sk', contextTokens: 5 }, owner));
    const event = await db().auditEvent.findFirstOrThrow({ where: { action: 'model.change', target: id } });
    expect([event.actor, event.details]).toEqual([
      owner.email,
      { name: 'm', changed: ['contextTokens', 'upstreamKey'], upstreamKey: true },
    ]);
    value(await change({ upstreamKey: null }, owner));
    value(await change({ urls: ['http://gpu:8000/secret-path/v1'] }, owner));
    const events = await db().auditEvent.findMany({ where: { action: 'model.change', target: id } });
    const details = events.map((event) => event.details);
    expect(details).toContainEqual({ name: 'm', changed: ['upstreamKey'], upstreamKey: false });
    expect(details).toContainEqual({ name: 'm', changed: ['urls'], origins: ['http://gpu:8000'] });
  });

  it.each([
    ['nothing', external, {}, undefined, /at least one setting/],
    ['a command to one at URLs', external, { command: 'x' }, 'command', /is at URLs/],
    ['a start timeout to one at URLs', external, { startTimeoutS: 5 }, 'startTimeoutS', /no start timeout/],
    [
      'an idle time to one that is always on',
      external,
      { sleepAfterS: 5 },
      'sleepAfterS',
      /wakes on request/,
    ],
    ['URLs to one that runs a command', process_, { urls: ['http://a'] }, 'urls', /runs a command/],
    ['a health path that names a host', external, { healthPath: '//a/up' }, 'healthPath', /one \//],
    [
      'a health path that browsers read as a host',
      external,
      { healthPath: '/\\a/up' },
      'healthPath',
      /one \//,
    ],
    ['a context out of range', external, { contextTokens: 0 }, 'contextTokens', /Context/],
    ['another name', external, { name: 'n', contextTokens: 1 }, 'name', /no published model/],
  ])('refuses %s, and stays as it is', async (_what, model, changes, field, message) => {
    const id = await publish(model);
    const before = await rowOf(id);
    expect(refusal(await change(changes))).toMatchObject({
      message: expect.stringMatching(message),
      ...(field ? { field } : {}),
    });
    expect(await rowOf(id)).toEqual(before);
  });

  it('has its command changed by operators only', async () => {
    const id = await publish(process_);
    const owner = await fixture.user(org, 'owner');
    expect(refusal(await change({ command: 'rm -rf /' }, owner)).code).toBe('forbidden');
    value(await change({ sleepAfterS: 9 }, owner));
    expect(await rowOf(id)).toMatchObject({ settings: { command: 'serve $PORT' }, sleepAfterS: 9 });
  });

  it('moves to another pool while it is stopped, or while no runner leads its pool', async () => {
    fixture.runner.pools = ['local', 'gpu0'];
    const id = await publish(process_);
    const led = (ms: number) => db().$executeRaw`
      INSERT INTO runner_lease VALUES ('local', 1, 'one', NULL, now() + ${ms} * interval '1 ms')
      ON CONFLICT (pool) DO UPDATE SET expires_at = excluded.expires_at`;
    await led(60_000);
    const refused = refusal(await change({ pool: 'gpu0' }));
    expect(refused).toMatchObject({ field: 'pool', message: expect.stringMatching(/^Stop the model first/) });
    await db().model.update({ where: { id }, data: { condition: 'stopped' } });
    expect(value(await change({ pool: 'gpu0' }))).toMatchObject({ pool: 'gpu0', runnerReached: true });
    expect(fixture.runner.calls.slice(1)).toEqual([`refresh ${id}`, `refresh ${id} gpu0`]);
    await db().model.update({ where: { id }, data: { pool: 'local', condition: 'running' } });
    await led(-1);
    expect(value(await change({ pool: 'gpu0' })).pool).toBe('gpu0');
  });

  it('may only be in a pool that can be called, which only operators choose', async () => {
    fixture.runner.pools = ['local', 'gpu0'];
    const owner = await fixture.user(org, 'owner');
    await publish({ ...process_, pool: 'gpu0' });
    expect((await db().model.findFirstOrThrow({ where: { name: 'm', pool: 'gpu0' } })).pool).toBe('gpu0');
    for (const pool of ['gpu1', 'GPU'])
      expect(refusal(await change({ pool }))).toMatchObject({ code: 'invalid_input', field: 'pool' });
    expect(refusal(await change({ pool: 'local' }, owner)).code).toBe('forbidden');
    const theirs = { ...external, org, name: 'n' } as never;
    const elsewhere = await fixture.control.publishModel(owner, {
      ...(theirs as object),
      pool: 'gpu0',
    } as never);
    expect(refusal(elsewhere)).toMatchObject({ code: 'forbidden', field: 'pool' });
    fixture.runner.pools = ['gpu0'];
    expect(value(await fixture.control.publishModel(owner, theirs)).pool).toBe('gpu0');
  });

  it('that is deleted cannot be changed', async () => {
    await publish(external);
    value(await fixture.control.deleteModel(OPERATOR, { org, name: 'm' }));
    expect(refusal(await change({ contextTokens: 1 })).code).toBe('not_found');
  });
});
