import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { closeDb, createDb, type Db } from '@tidegate/db';
import { PATIENT_DB, type TestClock, type TestPostgres, testClock, testPostgres } from '@tidegate/testing';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

const BEFORE = 'http://gpu1:8000/v1';
const AFTER = 'http://gpu2:8000/v1';
const vllm = {
  problem: '',
  server: 'vLLM',
  version: '0.11.0',
  models: [{ name: 'a', contextTokens: 8_192, vision: false }],
};

let server: TestPostgres;
let db: Db;
let clock: TestClock;
let fixture: Fixture;
let org: string;
beforeAll(async () => {
  server = await testPostgres();
  db = createDb(server.url, PATIENT_DB);
});
beforeEach(async () => {
  clock = testClock();
  fixture = createFixture(db, clock.now);
  org = await fixture.org('Check change');
  for (const url of [BEFORE, AFTER]) fixture.runner.servers.set(url, vllm);
});
afterAll(async () => {
  await closeDb(db);
  await server.drop();
});

const publish = async (model: object = {}): Promise<string> => {
  const external = { kind: 'text', mode: 'always_on', contextTokens: 4_096, urls: [BEFORE] };
  return value(
    await fixture.control.publishModel(OPERATOR, { org, name: 'm', ...external, ...model } as never),
  ).id;
};
const check = (changes: object, actor = OPERATOR) =>
  fixture.control.checkChange(actor, { org, name: 'm', ...changes });
const asked = () => fixture.runner.inspected.at(-1);

describe('a check before a change', () => {
  it('asks the servers with the settings of the changed model, and leaves a kept key to the runner', async () => {
    const id = await publish({ upstreamKey: 'sk-old', upstreamModel: 'a' });
    const { id: orgId } = await db.org.findUniqueOrThrow({ where: { slug: org } });
    const kept = { upstreamKey: '', upstreamKeyOf: id, pool: 'local', orgId };
    const found = value(await check({ urls: ['http://gpu2:8000'] }));
    expect(found).toMatchObject({
      ok: true,
      findings: [{ url: AFTER, problem: false, text: 'Reached vLLM 0.11.0. It serves a, context 8,192.' }],
    });
    expect(fixture.runner.inspected).toEqual([
      { baseUrl: AFTER, upstreamModel: 'a', upstreamModelAssumed: false, ...kept },
    ]);
    value(await check({ upstreamModel: null }));
    expect(asked()).toEqual({ baseUrl: BEFORE, upstreamModel: 'm', upstreamModelAssumed: true, ...kept });
    value(await check({ upstreamModel: 'b' }));
    expect(asked()).toEqual({ baseUrl: BEFORE, upstreamModel: 'b', upstreamModelAssumed: false, ...kept });
  });

  it('asks with a key that is given, and with none where it is taken away or was never there', async () => {
    const id = await publish({ upstreamKey: 'sk-old' });
    value(await check({ upstreamKey: 'sk-new' }));
    expect(asked()).toMatchObject({ upstreamKey: 'sk-new' });
    value(await check({ upstreamKey: null }));
    expect(asked()).toMatchObject({ upstreamKey: '' });
    await db.model.update({ where: { id }, data: { upstreamKey: null } });
    value(await check({ contextTokens: 1 }));
    expect(asked()).toMatchObject({ upstreamKey: '' });
    expect(fixture.runner.inspected.map(({ upstreamKeyOf }) => upstreamKeyOf)).toEqual(
      Array(3).fill(undefined),
    );
  });

  it('finds a context that is longer than the served one, as it is and as it will be', async () => {
    await publish({ upstreamModel: 'a', contextTokens: 9_000 });
    const text = 'Reached vLLM 0.11.0. It serves a. Its context is 8,192, less than 9,000.';
    expect(value(await check({ urls: [AFTER] }))).toMatchObject({ ok: false, findings: [{ text }] });
    expect(value(await check({ contextTokens: 8_192 }))).toMatchObject({ ok: true });
  });

  it('asks at the health path that the model will have', async () => {
    await publish({ healthPath: '/up' });
    for (const changes of [{ contextTokens: 1 }, { healthPath: '/ready' }, { healthPath: null }])
      value(await check(changes));
    expect(fixture.runner.inspected.map(({ healthPath }) => healthPath)).toEqual([
      '/up',
      '/ready',
      undefined,
    ]);
  });

  it('is only made for a model at URLs, and for settings that make a difference to its servers', async () => {
    await publish();
    expect(value(await check({ cost: 1 }))).toBeNull();
    expect(value(await check({}))).toBeNull();
    await publish({ name: 'p', urls: undefined, command: 'serve $PORT' });
    expect(value(await check({ name: 'p', contextTokens: 1 }))).toBeNull();
    expect(fixture.runner.inspected).toEqual([]);
  });

  it('changes nothing, and names the field that is wrong', async () => {
    const id = await publish();
    const before = await db.model.findUniqueOrThrow({ where: { id } });
    value(await check({ urls: [AFTER], contextTokens: 1, upstreamKey: 'sk-new' }));
    expect(await db.model.findUniqueOrThrow({ where: { id } })).toEqual(before);
    expect(refusal(await check({ urls: ['ftp://x'] })).field).toBe('urls');
    expect(refusal(await check({ name: 'other', contextTokens: 1 })).field).toBe('name');
  });

  it('is made by the runner of the pool that the model has, or is to move to', async () => {
    fixture.runner.pools = ['local', 'gpu0'];
    await publish({ pool: 'gpu0' });
    value(await check({ contextTokens: 1 }, await fixture.user(org, 'owner')));
    value(await check({ pool: 'local' }));
    expect(fixture.runner.inspected.map(({ pool }) => pool)).toEqual(['gpu0', 'local']);
    expect(refusal(await check({ pool: 'gpu9' })).field).toBe('pool');
  });

  it('is for owners, is audited with the model, and counts with the checks before publishing', async () => {
    await publish({ upstreamKey: 'sk-old' });
    for (const role of ['member', 'viewer'] as const)
      expect(refusal(await check({ contextTokens: 1 }, await fixture.user(org, role))).code).toBe(
        'forbidden',
      );
    const owner = await fixture.user(org, 'owner');
    const secret = { urls: ['http://gpu:8000/secret-path/v1'], upstreamKey: 'sk-new' };
    for (let i = 0; i < 19; i++) value(await check(secret, owner));
    value(await fixture.control.checkModel(owner, { org, urls: [BEFORE] }));
    expect(refusal(await check(secret, owner)).code).toBe('limit_reached');
    const events = await db.auditEvent.findMany({ where: { action: 'model.check', actor: owner.email } });
    expect(events.slice(0, 19).map(({ details }) => details)).toEqual(
      Array(19).fill({ origins: ['http://gpu:8000'], model: 'm' }),
    );
    expect(fixture.runner.inspected).toHaveLength(20);
    clock.advance(60_000);
    value(await check(secret, owner));
  });

  it('says so when no runner can check', async () => {
    await publish();
    fixture.runner.away = true;
    expect(refusal(await check({ contextTokens: 1 }))).toMatchObject({
      code: 'unavailable',
      message: 'No server was checked: the runner could not be reached.',
    });
  });
});
