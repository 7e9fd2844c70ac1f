import { randomBytes } from 'node:crypto';
import { beforeAll, expect, it } from '@jest/globals';
import { newModelId, seal, underKey, unseal } from '@tidegate/contracts';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createControl } from '../control.ts';
import { SECRET_KEY as CURRENT, createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

const [PREVIOUS, LOST] = [randomBytes(32), randomBytes(32)];
/** More than one batch. */
const MANY = 450;

const db = ownTestDb();
let fixture: Fixture;
let orgId: string;
beforeAll(async () => {
  fixture = createFixture(db(), Date.now);
  await fixture.org('Sealed');
  orgId = (await db().org.findFirstOrThrow()).id;
});

const model = (name: string, upstreamKey: Uint8Array | null, deletedAt: Date | null = null) => ({
  ...({ id: newModelId(), orgId, name, kind: 'text', mode: 'always_on', contextTokens: 1 } as const),
  ...({ driver: 'external', settings: {}, condition: 'running', deletedAt } as const),
  upstreamKey: upstreamKey && Uint8Array.from(upstreamKey),
});

it('resealing seals all upstream keys under the current key, those of deleted models too, and once only', async () => {
  const old = Array.from({ length: MANY }, (_, i) => model(`old-${i}`, seal(PREVIOUS, `sk-${i}`)));
  const lost = model('lost', seal(LOST, 'sk'));
  const kept = model('kept', seal(CURRENT, 'sk'));
  const rows = [...old, lost, kept, model('open', null), model('gone', seal(PREVIOUS, 'sk'), new Date())];
  await db().model.createMany({ data: rows });
  const { limiter, runner } = fixture;
  const keys = { secretKey: CURRENT, previousSecretKey: PREVIOUS };
  const control = createControl({ db: db(), limiter, runner, ...keys, now: Date.now });
  const left = {
    unreadable: [lost.id],
    unreadableModels: [{ id: lost.id, org: 'sealed', name: 'lost', deleted: false }],
    runnerReached: true,
  };
  expect(value(await control.resealSecrets(OPERATOR))).toEqual({ resealed: MANY + 1, unchanged: 1, ...left });
  expect(runner.calls.sort()).toEqual(old.map(({ id }) => `refresh ${id}`).sort());
  expect(value(await fixture.control.resealSecrets(OPERATOR))).toEqual({
    resealed: 0,
    unchanged: MANY + 2,
    ...left,
  });
  expect(runner.calls).toHaveLength(MANY);
  const now = await db().model.findMany({ where: { upstreamKey: { not: null } } });
  const keyOf = new Map(now.map(({ name, upstreamKey }) => [name, upstreamKey as Uint8Array]));
  expect(old.map(({ name }) => unseal([CURRENT], keyOf.get(name) ?? Buffer.of()))).toEqual(
    old.map((_, i) => `sk-${i}`),
  );
  const events = await db().auditEvent.findMany({ where: { orgId, action: 'model.reseal' } });
  expect(events.map(({ target }) => target).sort()).toEqual(
    rows.flatMap(({ id, name }) => (/^(old|gone)/.test(name) ? id : [])).sort(),
  );
  expect(events[0]).toMatchObject({ actor: 'ctl', details: { name: expect.stringMatching(/^old|^gone/) } });
  expect(underKey(CURRENT, keyOf.get('gone') ?? Buffer.of())).toBe(true);
  expect(unseal([LOST], keyOf.get('lost') ?? Buffer.of())).toBe('sk');
});

it('resealing raises the version of what it seals, by which runners find it, even those that could not be reached', async () => {
  await db().model.deleteMany();
  const [sealed, kept] = [model('sealed', seal(PREVIOUS, 'sk')), model('kept', seal(CURRENT, 'sk'))];
  await db().model.createMany({ data: [sealed, kept] });
  const { limiter, runner } = fixture;
  const keys = { secretKey: CURRENT, previousSecretKey: PREVIOUS };
  const control = createControl({ db: db(), limiter, runner, ...keys, now: Date.now });
  runner.away = true;
  expect(value(await control.resealSecrets(OPERATOR))).toMatchObject({ resealed: 1, runnerReached: false });
  runner.away = false;
  const versions = await db().model.findMany({
    orderBy: { name: 'asc' },
    select: { name: true, version: true },
  });
  expect(versions).toEqual([
    { name: 'kept', version: 1 },
    { name: 'sealed', version: 2 },
  ]);
});

it('resealing is for operators only', async () => {
  const owner = await fixture.user('sealed', 'owner');
  expect(refusal(await fixture.control.resealSecrets(owner)).code).toBe('forbidden');
});
