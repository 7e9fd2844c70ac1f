import { beforeEach, describe, expect, it } from '@jest/globals';
import { newApiKey, parseApiKey } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import { generousPlan, testClock, untilOneWaitsForALock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';
import { limitsText, mayCallText } from './view.ts';

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();

beforeEach(() => {
  clock.set(Date.UTC(2026, 10, 21, 12));
  fixture = createFixture(db(), clock.now);
});

type Tx = Parameters<Parameters<Db['$transaction']>[0]>[0];
type Org = Awaited<ReturnType<Db['org']['findUniqueOrThrow']>>;

const publish = (org: string, name: string) =>
  fixture.control.publishModel(OPERATOR, {
    org,
    name,
    kind: 'text',
    mode: 'always_on',
    contextTokens: 4_096,
    urls: ['http://127.0.0.1:9'],
  });

describe('creating a key', () => {
  it('shows the value once and stores only its hash [key.value.not-stored] [key.value.once] [service.everyone-sees]', async () => {
    const org = await fixture.org('Once');
    const created = value(await fixture.control.createKey(OPERATOR, { org, name: 'ci' }));
    const row = await db().apiKey.findUniqueOrThrow({ where: { id: created.id } });
    expect(Buffer.from(row.hash)).toEqual(parseApiKey(created.key)?.hash);
    const everything = JSON.stringify([row, await db().auditEvent.findMany({ where: { target: row.id } })]);
    expect(everything).not.toContain(created.key.slice(0, 14));
    expect(JSON.stringify(await fixture.control.listKeys(OPERATOR, { org }))).not.toContain(created.key);
  });

  it('applies the defaults of the contract [key.at-once] [key.expires.default] [key.may-call.default] [key.rpm] [limit.key-at-once] [limit.key-rpm]', async () => {
    const org = await fixture.org('Defaults');
    const created = value(await fixture.control.createKey(OPERATOR, { org, name: 'ci' }));
    expect(created).toMatchObject({
      requestsPerMinute: 60,
      requestsAtOnce: 4,
      expiresOn: null,
      state: 'Active',
    });
    expect(limitsText(created)).toBe('60/min · 4 at once');
    expect(mayCallText(created.mayCall)).toBe('All models');
  });

  it('says everything that is wrong with a key at once, one fault per field', async () => {
    const org = await fixture.org('All at once');
    const input = {
      name: '',
      models: [''],
      requestsPerMinute: 0,
      requestsAtOnce: 257,
      expiresOn: '2026-11-20',
    };
    const {
      code,
      others = [],
      ...first
    } = refusal(await fixture.control.createKey(OPERATOR, { org, ...input }));
    expect(code).toBe('invalid_input');
    expect([first, ...others].map(({ field }) => field)).toEqual(Object.keys(input));
    for (const { message } of [first, ...others]) expect(message).toMatch(/must be|Choose|Give/);
    expect(refusal(await fixture.control.createKey(OPERATOR, { org, name: '' }))).not.toHaveProperty(
      'others',
    );
  });

  it.each([
    ['no name [key.name]', { name: '' }, 'name', '1 to 80 characters'],
    ['a name of blanks [key.name]', { name: '   ' }, 'name', '1 to 80 characters'],
    ['a name of 81 characters [key.name]', { name: 'x'.repeat(81) }, 'name', '1 to 80 characters'],
    ['a name with a NUL', { name: 'a\u0000b' }, 'name', 'must not contain the character NUL'],
    ['a name with a line break', { name: 'a\nb' }, 'name', 'control characters'],
    ['0 a minute [key.rpm]', { name: 'k', requestsPerMinute: 0 }, 'requestsPerMinute', '1 to 6,000'],
    ['6,001 a minute [key.rpm]', { name: 'k', requestsPerMinute: 6_001 }, 'requestsPerMinute', '1 to 6,000'],
    ['1.5 a minute [key.rpm]', { name: 'k', requestsPerMinute: 1.5 }, 'requestsPerMinute', '1 to 6,000'],
    ['0 at once [key.at-once]', { name: 'k', requestsAtOnce: 0 }, 'requestsAtOnce', '1 to 256'],
    ['257 at once [key.at-once]', { name: 'k', requestsAtOnce: 257 }, 'requestsAtOnce', '1 to 256'],
    ['a day that has passed', { name: 'k', expiresOn: '2026-11-20' }, 'expiresOn', 'today (UTC) or later'],
    ['29 February 2027', { name: 'k', expiresOn: '2027-02-29' }, 'expiresOn', 'YYYY-MM-DD'],
    ['a day in words', { name: 'k', expiresOn: 'tomorrow' }, 'expiresOn', 'YYYY-MM-DD'],
    ['an empty choice of models', { name: 'k', models: [] }, 'models', '1 to 50'],
    [
      '51 chosen models [key.may-call.chosen] [limit.key-models]',
      { name: 'k', models: Array.from({ length: 51 }, (_, i) => `m${i}`) },
      'models',
      '1 to 50',
    ],
    ['a model that does not exist', { name: 'k', models: ['nothing'] }, 'models', '"nothing"'],
  ])('refuses %s, naming the field and what is allowed', async (_name, input, field, allowed) => {
    const org = await fixture.org('Rules');
    const refused = refusal(await fixture.control.createKey(OPERATOR, { org, ...input }));
    expect(refused.field).toBe(field);
    expect(refused.message).toContain(allowed);
    expect(await db().apiKey.count({ where: { org: { slug: org } } })).toBe(0);
  });

  it('takes the bounds themselves: 80 characters of any plane, 6,000 a minute, 256 at once, today [key.at-once] [key.name] [key.rpm] [limit.key-at-once] [limit.key-rpm]', async () => {
    const org = await fixture.org('Bounds');
    const input = {
      org,
      name: '🔑'.repeat(80),
      requestsPerMinute: 6_000,
      requestsAtOnce: 256,
      expiresOn: '2026-11-21',
    };
    expect(value(await fixture.control.createKey(OPERATOR, input)).name).toHaveLength(160);
  });

  it('takes 50 chosen models [key.may-call.chosen]', async () => {
    const org = await fixture.org('Fifty');
    const { id } = await db().org.findUniqueOrThrow({ where: { slug: org } });
    await db().$executeRaw`
      INSERT INTO model (id, org_id, name, kind, mode, context_tokens, driver, settings, condition)
      SELECT 'mdl_fifty' || n, ${id}, 'm' || n, 'text', 'always_on', 1000, 'external', '{}', 'running'
      FROM generate_series(1, 50) n`;
    const models = Array.from({ length: 50 }, (_, i) => `m${i + 1}`);
    const key = value(await fixture.control.createKey(OPERATOR, { org, name: 'k', models }));
    expect(key.mayCall).toEqual({ all: false, models: [...models].sort(), deleted: 0 });
  });

  it('never passes the plan limit, however many are created together [limit.keys]', async () => {
    const org = await fixture.org('Crowd', 'Free');
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, i) => fixture.control.createKey(OPERATOR, { org, name: `k${i}` })),
    );
    expect(results.filter((result) => result.ok)).toHaveLength(3);
    expect(refusal(results.find((result) => !result.ok) as never).code).toBe('limit_reached');
  });

  it('counts keys that are not revoked: revoking one makes room, expiry does not [plan.keys] [state.key.counted]', async () => {
    const org = await fixture.org('Room', 'Free');
    const create = () => fixture.control.createKey(OPERATOR, { org, name: 'k', expiresOn: '2026-11-21' });
    const [first] = [value(await create()), value(await create()), value(await create())];
    clock.advance(86_400_000);
    expect(refusal(await fixture.control.createKey(OPERATOR, { org, name: 'k' })).code).toBe('limit_reached');
    value(await fixture.control.revokeKey(OPERATOR, { org, id: first.id }));
    expect((await fixture.control.createKey(OPERATOR, { org, name: 'k' })).ok).toBe(true);
  });

  describe('that waits for a change of the plan', () => {
    /** Creates a key of the organization while `change` is not committed yet. */
    const createDuring = async (slug: string, change: (tx: Tx, org: Org) => Promise<unknown>) => {
      const org = await db().org.findUniqueOrThrow({ where: { slug } });
      let created: ReturnType<typeof fixture.control.createKey> | undefined;
      await db().$transaction(
        async (tx) => {
          await change(tx, org);
          await tx.org.update({ where: { id: org.id }, data: { limitsVersion: { increment: 1 } } });
          created = fixture.control.createKey(OPERATOR, { org: slug, name: 'k' });
          await untilOneWaitsForALock(db());
        },
        { timeout: 60_000 },
      );
      return created as NonNullable<typeof created>;
    };

    it('keeps to the limit that it lowers [plan.keys]', async () => {
      value(await fixture.control.setPlan(OPERATOR, { name: 'Wide', ...generousPlan() }));
      const org = await fixture.org('Lowered', 'Wide');
      value(await fixture.control.createKey(OPERATOR, { org, name: 'first' }));
      const result = await createDuring(org, (tx, { planId }) =>
        tx.plan.update({ where: { id: planId }, data: { keys: 1 } }),
      );
      expect(refusal(result).code).toBe('limit_reached');
    });

    it('has the room of the plan that the organization moves to', async () => {
      const org = await fixture.org('Moved', 'Free');
      const { id: planId } = await db().plan.findFirstOrThrow({ where: { name: 'Starter' } });
      const result = await createDuring(org, (tx, { id }) =>
        tx.org.update({ where: { id }, data: { planId } }),
      );
      expect(result.ok).toBe(true);
    });
  });

  it('says that more than one key must go, if a smaller plan has room for fewer than there are', async () => {
    const org = await fixture.org('Smaller');
    for (const name of ['a', 'b', 'c']) value(await fixture.control.createKey(OPERATOR, { org, name }));
    value(await fixture.control.setOrgPlan(OPERATOR, { org, plan: 'Free' }));
    const refused = async () =>
      refusal(await fixture.control.createKey(OPERATOR, { org, name: 'k' })).message;
    expect(await refused()).toMatch(/: revoke one first\.$/);
    value(await fixture.control.setOrgPlan(OPERATOR, { org, plan: 'Pro' }));
    value(await fixture.control.createKey(OPERATOR, { org, name: 'd' }));
    value(await fixture.control.setOrgPlan(OPERATOR, { org, plan: 'Free' }));
    expect(await refused()).toMatch(/: revoke keys first\.$/);
  });

  it('keeps the ceiling of 1,000 keys in all, revoked ones included [limit.keys.total]', async () => {
    const org = await fixture.org('Ceiling');
    const { id: orgId } = await db().org.findUniqueOrThrow({ where: { slug: org } });
    await db().$executeRaw`
      INSERT INTO api_key (id, org_id, name, prefix, hash, all_models, requests_per_minute, requests_at_once, revoked_at)
      SELECT 'key_old' || n, ${orgId}, 'old', 'ti_old', sha256(('old' || n)::bytea), true, 60, 4, now()
      FROM generate_series(1, 1000) n`;
    const refused = refusal(await fixture.control.createKey(OPERATOR, { org, name: 'k' }));
    expect(refused).toMatchObject({ code: 'limit_reached', message: expect.stringContaining('1,000') });
    value(await fixture.control.deleteKey(OPERATOR, { org, id: 'key_old1' }));
    expect((await fixture.control.createKey(OPERATOR, { org, name: 'k' })).ok).toBe(true);
  });
});

describe('chosen models', () => {
  it('tie a key to the model, not to its name: one published later under the same name is not reached [key.list.deleted] [key.tied-to-models]', async () => {
    const org = await fixture.org('Tied');
    const first = value(await publish(org, 'small'));
    value(await publish(org, 'large'));
    const key = value(
      await fixture.control.createKey(OPERATOR, { org, name: 'k', models: ['small', 'large', 'small'] }),
    );
    expect(key.mayCall).toEqual({ all: false, models: ['large', 'small'], deleted: 0 });
    value(await fixture.control.deleteModel(OPERATOR, { org, name: 'small' }));
    value(await publish(org, 'small'));
    const [listed] = value(await fixture.control.listKeys(OPERATOR, { org }));
    expect(mayCallText(listed?.mayCall as never)).toBe('large, 1 deleted');
    const chosen = await db().apiKeyModel.findMany({ where: { keyId: key.id } });
    expect(chosen.map((row) => row.modelId)).toContain(first.id);
  });

  it('of another organization are refused like ones that do not exist', async () => {
    const theirs = await fixture.org('Theirs');
    value(await publish(theirs, 'secret'));
    const org = await fixture.org('Ours');
    const refusedFor = async (model: string) =>
      refusal(await fixture.control.createKey(OPERATOR, { org, name: 'k', models: [model] }));
    const nothing = await refusedFor('nothing');
    expect(nothing.code).toBe('not_found');
    expect(await refusedFor('secret')).toEqual({
      ...nothing,
      message: nothing.message.replace('nothing', 'secret'),
    });
  });
});

describe('states', () => {
  it('are all that changes about a key: no operation edits one [key.no-edit] [state.key.revoked.final]', () => {
    const ofKeys = Object.keys(fixture.control).filter((name) => /key/i.test(name));
    const ofPages = ['createPageKey', 'endPageKey', 'endPageKeys'];
    const ofAll = ['createKey', 'deleteKey', 'listKeys', 'revokeKey', 'showKey', 'tryKey'];
    expect(ofKeys.sort()).toEqual([...ofAll, ...ofPages].sort());
  });

  it('must be Active for a key to be tried, in its own organization, by someone who may try models', async () => {
    const [org, other] = [await fixture.org('Tried'), await fixture.org('Afar')];
    const create = async (name: string, settings = {}) =>
      value(await fixture.control.createKey(OPERATOR, { org, name, ...settings }));
    const [active, expiring, revoked] = [
      await create('active', { expiresOn: '2026-11-22' }),
      await create('expiring', { expiresOn: '2026-11-21' }),
      await create('revoked'),
    ];
    value(await fixture.control.revokeKey(OPERATOR, { org, id: revoked.id }));
    clock.advance(86_400_000);
    const member = await fixture.user(org, 'member');
    const works = async (key: string) => value(await fixture.control.tryKey(member, { org, key }));
    expect(await works(active.key)).toBe(true);
    const afar = value(await fixture.control.createKey(OPERATOR, { org: other, name: 'k' }));
    for (const key of [expiring.key, revoked.key, afar.key, newApiKey('abcdefghijkl').value, 'ti_wrong', ''])
      expect(await works(key)).toBe(false);
    const refused = await fixture.control.tryKey(await fixture.user(org, 'viewer'), { org, key: active.key });
    expect(refusal(refused).code).toBe('forbidden');
  });

  it('are Active through the last day, Expired from 00:00 UTC of the day after, Revoked whatever the day [key.list.state] [state.key.expired]', async () => {
    const org = await fixture.org('States');
    const { id } = value(
      await fixture.control.createKey(OPERATOR, { org, name: 'k', expiresOn: '2026-11-22' }),
    );
    const state = async () => value(await fixture.control.listKeys(OPERATOR, { org }))[0]?.state;
    clock.set(Date.UTC(2026, 10, 22, 23, 59, 59, 999));
    expect(await state()).toBe('Active');
    clock.advance(1);
    expect(await state()).toBe('Expired');
    value(await fixture.control.revokeKey(OPERATOR, { org, id }));
    expect(await state()).toBe('Revoked');
  });

  it('such as Revoked are in force only once the limiter has confirmed them, and revoking again is safe', async () => {
    const org = await fixture.org('Revoke');
    const { id } = value(await fixture.control.createKey(OPERATOR, { org, name: 'k' }));
    fixture.limiter.away = true;
    expect(await fixture.control.revokeKey(OPERATOR, { org, id })).toMatchObject({
      value: { state: 'Revoked' },
      notInForce: expect.stringContaining('may still be accepted'),
    });
    fixture.limiter.away = false;
    const again = await fixture.control.revokeKey(OPERATOR, { org, id });
    expect(value(again).state).toBe('Revoked');
    expect(again).not.toHaveProperty('notInForce');
    expect(value(await fixture.control.revokeKey(OPERATOR, { org, id })).state).toBe('Revoked');
    expect(fixture.limiter.revoked).toEqual([id, id]);
    expect(await db().auditEvent.count({ where: { target: id, action: 'key.revoke' } })).toBe(1);
  });

  it('let only a revoked key be deleted, once the limiter knows of it, and its usage is kept [state.key.deleted] [usage.deleted-key]', async () => {
    const org = await fixture.org('Delete');
    const { id } = value(await fixture.control.createKey(OPERATOR, { org, name: 'k' }));
    const { id: orgId } = await db().org.findUniqueOrThrow({ where: { slug: org } });
    await db()
      .$executeRaw`INSERT INTO usage_day VALUES (${orgId}, '2026-11-21', ${id}, 'mdl_x', 2, 1, 3, 4, 5, 60, 2)`;
    expect(refusal(await fixture.control.deleteKey(OPERATOR, { org, id })).code).toBe('conflict');
    value(await fixture.control.revokeKey(OPERATOR, { org, id }));
    fixture.limiter.away = true;
    expect(refusal(await fixture.control.deleteKey(OPERATOR, { org, id })).code).toBe('unavailable');
    fixture.limiter.away = false;
    value(await fixture.control.deleteKey(OPERATOR, { org, id }));
    expect(value(await fixture.control.listKeys(OPERATOR, { org }))).toEqual([]);
    const usage = value(await fixture.control.showUsage(OPERATOR, { org }));
    expect(usage.rows).toEqual([
      expect.objectContaining({ key: 'A deleted key', keyPrefix: null, requests: 2 }),
    ]);
  });
});
