import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { closeDb, createDb, type Db } from '@tidegate/db';
import { PATIENT_DB, type TestClock, type TestPostgres, testClock, testPostgres } from '@tidegate/testing';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

const URL_A = 'http://gpu1:8000/v1';
const URL_B = 'http://gpu2:8000/v1';
const served = (name: string, contextTokens = 0, vision = false) => ({ name, contextTokens, vision });
const vllm = (...models: ReturnType<typeof served>[]) => ({
  problem: '',
  server: 'vLLM',
  version: '0.11.0',
  models,
});

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
  org = await fixture.org('Check');
});
afterAll(async () => {
  await closeDb(db);
  await server.drop();
});

const check = (input: object = {}, actor = OPERATOR) =>
  fixture.control.checkModel(actor, { org, urls: ['http://gpu1:8000'], ...input });
const findingsOf = async (input: object = {}) => value(await check(input)).findings.map(({ text }) => text);

describe('a check before publishing', () => {
  it('says what was reached, what it serves and with which context, to fill in the form from', async () => {
    fixture.runner.servers.set(URL_A, vllm(served('org/a', 32_768), served('b', 32_768, true)));
    expect(value(await check({ upstreamKey: 'sk-up' }))).toEqual({
      ok: true,
      findings: [
        { url: URL_A, problem: false, text: 'Reached vLLM 0.11.0. It serves org/a and b, context 32,768.' },
      ],
      models: [
        { upstreamModel: 'org/a', name: 'org/a', kind: 'text', contextTokens: 32_768 },
        { upstreamModel: 'b', name: 'b', kind: 'vision', contextTokens: 32_768 },
      ],
    });
    const { id: orgId } = await db.org.findUniqueOrThrow({ where: { slug: org } });
    const unnamed = { upstreamModel: '', upstreamModelAssumed: true };
    expect(fixture.runner.inspected).toEqual([
      { baseUrl: URL_A, ...unnamed, upstreamKey: 'sk-up', pool: 'local', orgId },
    ]);
    await check({ name: 'n' });
    await check({ name: 'n', upstreamModel: 'u' });
    expect(
      fixture.runner.inspected.slice(1).map((one) => [one.upstreamModel, one.upstreamModelAssumed]),
    ).toEqual([
      ['n', true],
      ['u', false],
    ]);
  });

  it('asks at the health path that it is to be published with', async () => {
    value(await check({ healthPath: '/up' }));
    expect(fixture.runner.inspected[0]?.healthPath).toBe('/up');
  });

  it('finds a context that is longer than the served one', async () => {
    fixture.runner.servers.set(URL_A, vllm(served('a', 4_096), served('b', 8_192)));
    const { ok, findings: said } = value(await check({ name: 'a', contextTokens: 8_192 }));
    expect([ok, said[0]?.text]).toEqual([
      false,
      'Reached vLLM 0.11.0. It serves a and b. Its context is 4,096, less than 8,192.',
    ]);
    expect(await findingsOf({ name: 'b', contextTokens: 8_192 })).toEqual([
      'Reached vLLM 0.11.0. It serves a and b, context 8,192.',
    ]);
  });

  it('says what is wrong with each server, and offers what all of them serve with the least context', async () => {
    const problem = 'The server refused the upstream key (401).';
    fixture.runner.servers.set(URL_A, vllm(served('a', 8_192), served('b')));
    fixture.runner.servers.set(URL_B, { ...vllm(served('a', 4_096)), problem });
    const { ok, findings: said, models } = value(await check({ urls: [URL_A, URL_B] }));
    expect([ok, said.map(({ text }) => text)]).toEqual([
      false,
      ['Reached vLLM 0.11.0. It serves a and b.', `Reached vLLM 0.11.0. ${problem}`],
    ]);
    expect(models).toEqual([{ upstreamModel: 'a', name: 'a', kind: 'text', contextTokens: 4_096 }]);
  });

  it.each(['', 'A model server', 'A server'])(
    'says only what is wrong with a server known as %j',
    async (name) => {
      const problem = 'Its server does not answer (connection refused).';
      fixture.runner.servers.set(URL_A, { problem, server: name, version: '', models: [] });
      expect(await findingsOf()).toEqual([problem]);
    },
  );

  it('answers in a short sentence, whether a server lists nothing or too much', async () => {
    fixture.runner.servers.set(URL_A, { problem: '', server: '', version: '', models: [] });
    expect(await findingsOf()).toEqual(['Reached a server. It does not list what it serves.']);
    const many = Array.from({ length: 7 }, (_, i) => served(`${i}${'x'.repeat(200)}`));
    fixture.runner.servers.set(URL_A, vllm(...many));
    const [text = ''] = await findingsOf();
    expect(text.length).toBeLessThan(500);
    expect(text).toMatch(/ and 2 more\.$/);
  });

  it('is for owners, is audited without key and path, and is refused when there are too many', async () => {
    for (const role of ['member', 'viewer'] as const)
      expect(refusal(await check({}, await fixture.user(org, role))).code).toBe('forbidden');
    const owner = await fixture.user(org, 'owner');
    const secret = { urls: ['http://gpu:8000/secret-path/v1'], upstreamKey: 'sk-up' };
    const checks = await Promise.all(Array.from({ length: 25 }, () => check(secret, owner)));
    const refused = checks.flatMap((one) => (one.ok ? [] : [one.refusal.code]));
    expect(refused).toEqual(Array(5).fill('limit_reached'));
    expect(fixture.runner.inspected).toHaveLength(20);
    const events = await db.auditEvent.findMany({ where: { action: 'model.check', actor: owner.email } });
    expect(events.map(({ details }) => details)).toEqual(Array(20).fill({ origins: ['http://gpu:8000'] }));
    clock.advance(60_000);
    value(await check(secret, owner));
  });

  it('says so when no runner can check', async () => {
    fixture.runner.away = true;
    expect(refusal(await check())).toMatchObject({
      code: 'unavailable',
      message: 'No server was checked: the runner could not be reached.',
    });
    expect(refusal(await check({}, await fixture.user(org, 'owner'))).message).toBe(
      'No server was checked: the runner is not available right now.',
    );
  });

  it('is made by the runner of the pool in which the model is to be published', async () => {
    fixture.runner.pools = ['local', 'gpu0'];
    value(await check({ pool: 'gpu0' }));
    value(await check());
    expect(fixture.runner.inspected.map(({ pool }) => pool)).toEqual(['gpu0', 'local']);
    expect(refusal(await check({ pool: 'gpu9' })).field).toBe('pool');
    const owner = await fixture.user(org, 'owner');
    expect(refusal(await check({ pool: 'gpu0' }, owner))).toMatchObject({ code: 'forbidden', field: 'pool' });
  });

  it('names the field that is wrong', async () => {
    expect(refusal(await check({ urls: ['ftp://x'] })).field).toBe('urls');
    expect(refusal(await check({ upstreamKey: 'a b' })).field).toBe('upstreamKey');
  });
});
