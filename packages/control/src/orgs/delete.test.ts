import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ensureRequestPartitions } from '@tidegate/db';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

const DAYS = ['2026-11-20', '2026-11-21'];
const external = {
  kind: 'text' as const,
  mode: 'always_on' as const,
  contextTokens: 4_096,
  urls: ['http://127.0.0.1:9'],
};
/**
 * Tables of accounts and of the installation. Every other table has rows of organizations, so
 * `fullOrg` must give it one.
 */
const OF_NO_ORG = [
  ...['account', 'passkey', 'session', 'sign_in_attempt', 'two_factor', 'user', 'verification'],
  ...['_prisma_migrations', 'deleted_org', 'plan', 'refusal_report', 'runner_lease', 'runner_pool'],
];

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();

beforeAll(async () => {
  await ensureRequestPartitions(db(), DAYS);
});
beforeEach(() => {
  clock.set(Date.UTC(2026, 10, 21, 12));
  fixture = createFixture(db(), clock.now);
});

interface Full {
  readonly id: string;
  readonly slug: string;
  /** Ids and names that only rows of this organization have. */
  readonly traces: readonly string[];
  /** Of its published models. One is a Kubernetes workload. */
  readonly modelIds: readonly [external: string, workload: string];
  /** Of a deleted model, whose workload no runner has scaled down. */
  readonly leftId: string;
}

/** Publishes a Kubernetes workload. Resolves to the model's id. */
async function workload(org: string, name: string): Promise<string> {
  const { urls: _, ...settings } = { ...external, kubernetes: `${org}/${name}` };
  return value(await fixture.control.publishModel(OPERATOR, { org, name, ...settings })).id;
}

/** Creates an organization that has a row in every table that can have one. */
async function fullOrg(name: string): Promise<Full> {
  const slug = await fixture.org(name);
  const org = { org: slug };
  const owner = await fixture.user(slug, 'owner');
  const kept = value(await fixture.control.publishModel(owner, { ...org, name: 'kept', ...external }));
  const gone = value(await fixture.control.publishModel(owner, { ...org, name: 'gone', ...external }));
  const key = value(await fixture.control.createKey(owner, { ...org, name: 'k', models: ['kept', 'gone'] }));
  value(await fixture.control.deleteModel(owner, { ...org, name: 'gone' }));
  const [up, leftId] = [await workload(slug, 'up'), await workload(slug, 'left')];
  value(await fixture.control.deleteModel(owner, { ...org, name: 'left' }));
  const invited = `invited-to-${slug}@example.com`;
  value(await fixture.control.createInvitation(owner, { ...org, email: invited, role: 'viewer' }));
  const { id } = await db().org.findUniqueOrThrow({ where: { slug } });
  for (const day of DAYS) {
    await db().$executeRaw`INSERT INTO request VALUES
      (${`${slug}-${day}`}, ${day}::date, ${id}, ${key.id}, ${kept.id}, ${day}::timestamptz, true, NULL, false, 1, 1, 10, 2, 5)`;
    await db()
      .$executeRaw`INSERT INTO usage_day VALUES (${id}, ${day}::date, ${key.id}, ${kept.id}, 1, 0, 1, 1, 0, 5, 1)`;
    await db().$executeRaw`SELECT recount_usage_hours(${id}, ${day}::date)`;
  }
  const refused = { hour: new Date(0), modelId: '', cause: '', code: 'model_not_found', refusals: 1n };
  await db().refusalHour.create({ data: { orgId: id, keyId: key.id, ...refused } });
  await db().$executeRaw`INSERT INTO condition_change VALUES (${kept.id}, '2026-11-21', 'running', NULL)`;
  await db().$executeRaw`INSERT INTO month_total VALUES (${id}, '2026-11', 2, 4)`;
  const traces = [id, slug, key.id, key.prefix, kept.id, gone.id, up, leftId, invited];
  return { id, slug, traces, modelIds: [kept.id, up], leftId };
}

async function allTables(): Promise<string[]> {
  const tables = await db().$queryRaw<{ name: string }[]>`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`;
  return tables.map(({ name }) => name).sort();
}

/** The tables that have a row with one of these texts. */
async function tablesWith(texts: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    (await allTables()).map(async (name) => {
      const rows = await db().$queryRawUnsafe<unknown[]>(
        `SELECT 1 FROM "${name}" t WHERE EXISTS (SELECT FROM unnest($1::text[]) x WHERE strpos(t::text, x) > 0) LIMIT 1`,
        texts,
      );
      return rows.length > 0 ? [name] : [];
    }),
  );
  return found.flat().sort();
}

/**
 * What stays: that it was deleted, by which operator, and the workloads that a runner has to end.
 */
const KEPT = ['audit_event', 'deleted_org', 'left_workload'];

describe('deleting an organization', () => {
  it('leaves nothing of it in any table but that it was deleted and its workloads to end, and everything of the others', async () => {
    const one = await fullOrg('Leaves nothing');
    const other = await fullOrg('Stays');
    const before = await tablesWith(other.traces);
    expect([...before, ...OF_NO_ORG].sort()).toEqual(await allTables());
    expect(await tablesWith(one.traces)).toEqual(before);
    const deleted = await fixture.control.deleteOrg(OPERATOR, { org: one.slug, confirm: 'Leaves nothing' });
    expect(value(deleted)).toEqual({ id: one.id, runnerReached: true, usageDeleted: true });
    expect(await tablesWith(one.traces)).toEqual(KEPT);
    // The installation's trail has only the id, and no table has the id and another trace.
    expect(await tablesWith(one.traces.filter((trace) => trace !== one.id))).toEqual(['left_workload']);
    expect(await tablesWith([one.id])).toEqual(['audit_event', 'deleted_org']);
    expect(await tablesWith(other.traces)).toEqual(before);
    expect(await db().deletedOrg.findUnique({ where: { orgId: one.id } })).toMatchObject({
      deletedBy: 'operator',
      purgedAt: expect.any(Date),
    });
  });

  it('keeps only where a runner finds its workloads, until the runner has scaled them down', async () => {
    const { slug, modelIds, leftId } = await fullOrg('Workloads');
    value(await fixture.control.deleteOrg(OPERATOR, { org: slug, confirm: 'Workloads' }));
    const rows = await db().leftWorkload.findMany({ where: { modelId: { in: [...modelIds, leftId] } } });
    const settings = (name: string) => ({ namespace: slug, kind: 'deployment', name, service: name });
    const kept = { pool: 'local', leftAt: expect.any(Date) };
    expect(rows).toHaveLength(2);
    expect(rows).toEqual(
      expect.arrayContaining([
        { modelId: modelIds[1], settings: settings('up'), ...kept },
        { modelId: leftId, settings: settings('left'), ...kept },
      ]),
    );
  });

  it('has the limiter forget it, and the runner end the models that were published', async () => {
    const { id, slug, modelIds } = await fullOrg('Told');
    fixture.runner.calls.length = 0;
    value(await fixture.control.deleteOrg(OPERATOR, { org: slug, confirm: 'Told' }));
    expect(fixture.limiter.forgotten).toEqual([id]);
    expect(fixture.runner.calls.sort()).toEqual(modelIds.map((modelId) => `refresh ${modelId}`).sort());
  });

  it('needs its name, typed exactly', async () => {
    const { slug, traces } = await fullOrg('Typed');
    const before = await tablesWith(traces);
    for (const confirm of ['', 'typed', slug]) {
      const refused = await fixture.control.deleteOrg(OPERATOR, { org: slug, confirm });
      expect(refusal(refused)).toMatchObject({ code: 'invalid_input', field: 'confirm' });
    }
    expect(await tablesWith(traces)).toEqual(before);
    expect(fixture.limiter.forgotten).toEqual([]);
  });

  it('is done by an owner, whom the record names by id only', async () => {
    const { id, slug } = await fullOrg('By its owner');
    const owner = await fixture.user(slug, 'owner');
    value(await fixture.control.deleteOrg(owner, { org: slug, confirm: 'By its owner' }));
    expect(await db().deletedOrg.findUnique({ where: { orgId: id } })).toMatchObject({
      deletedBy: owner.userId,
    });
    expect(refusal(await fixture.control.listKeys(owner, { org: slug })).code).toBe('not_found');
  });

  it('says so when no limiter could be reached, and an operator can repeat it by its id', async () => {
    const { id, slug, traces } = await fullOrg('Away');
    fixture.limiter.away = true;
    const first = await fixture.control.deleteOrg(OPERATOR, { org: slug, confirm: 'Away' });
    expect(first).toMatchObject({
      value: { id, runnerReached: true, usageDeleted: true },
      notInForce: expect.stringContaining('may still be accepted'),
    });
    fixture.limiter.away = false;
    expect(value(await fixture.control.deleteOrg(OPERATOR, { org: id, confirm: '' })).id).toBe(id);
    expect(fixture.limiter.forgotten).toEqual([id]);
    expect(await tablesWith(traces)).toEqual(KEPT);
  });

  it('says whether the runner could be reached', async () => {
    const { slug } = await fullOrg('Runner away');
    fixture.runner.away = true;
    const deleted = await fixture.control.deleteOrg(OPERATOR, { org: slug, confirm: 'Runner away' });
    expect(value(deleted)).toMatchObject({ runnerReached: false, usageDeleted: true });
  });

  it('by two at once happens once', async () => {
    const { slug } = await fullOrg('Twice');
    const both = await Promise.all(
      [1, 2].map(() => fixture.control.deleteOrg(OPERATOR, { org: slug, confirm: 'Twice' })),
    );
    expect(both.map(({ ok }) => ok).sort()).toEqual([false, true]);
  });
});

describe('usage of an organization that exists', () => {
  it('cannot be purged', async () => {
    const { id, traces } = await fullOrg('Alive');
    const before = await tablesWith(traces);
    await expect(db().$queryRaw`SELECT purge_organization(${id})`).rejects.toThrow('exists');
    expect(await tablesWith(traces)).toEqual(before);
  });
});
