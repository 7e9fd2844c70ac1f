import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { closeDb, createDb, type Db, ensureRequestPartitions } from '@tidegate/db';
import { PATIENT_DB, type TestPostgres, testClock, testPostgres } from '@tidegate/testing';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

const DAYS = ['2026-11-20', '2026-11-21'];
const external = {
  kind: 'text' as const,
  mode: 'always_on' as const,
  contextTokens: 4_096,
  urls: ['http://127.0.0.1:9'],
};

let postgres: TestPostgres;
let db: Db;
let fixture: Fixture;
const clock = testClock();

beforeAll(async () => {
  postgres = await testPostgres();
  db = createDb(postgres.url, PATIENT_DB);
  await ensureRequestPartitions(db, DAYS);
});
afterAll(async () => {
  await closeDb(db);
  await postgres.drop();
});
beforeEach(() => {
  clock.set(Date.UTC(2026, 10, 21, 12));
  fixture = createFixture(db, clock.now);
});

interface Full {
  readonly id: string;
  readonly slug: string;
  /** Ids and names that only rows of this organization have. */
  readonly traces: readonly string[];
  readonly modelId: string;
}

/** An organization that has something in every table that can have something of it. */
async function fullOrg(name: string): Promise<Full> {
  const slug = await fixture.org(name);
  const org = { org: slug };
  const owner = await fixture.user(slug, 'owner');
  const kept = value(await fixture.control.publishModel(owner, { ...org, name: 'kept', ...external }));
  const gone = value(await fixture.control.publishModel(owner, { ...org, name: 'gone', ...external }));
  const key = value(await fixture.control.createKey(owner, { ...org, name: 'k', models: ['kept', 'gone'] }));
  value(await fixture.control.deleteModel(owner, { ...org, name: 'gone' }));
  const invited = `invited-to-${slug}@example.com`;
  value(await fixture.control.createInvitation(owner, { ...org, email: invited, role: 'viewer' }));
  const { id } = await db.org.findUniqueOrThrow({ where: { slug } });
  for (const day of DAYS) {
    await db.$executeRaw`INSERT INTO request VALUES
      (${`${slug}-${day}`}, ${day}::date, ${id}, ${key.id}, ${kept.id}, ${day}::timestamptz, true, NULL, false, 1, 1, 10, 2, 5)`;
    await db.$executeRaw`INSERT INTO usage_day VALUES (${id}, ${day}::date, ${key.id}, ${kept.id}, 1, 0, 1, 1, 0, 5, 1)`;
    await db.$executeRaw`SELECT recount_usage_hours(${id}, ${day}::date)`;
  }
  const refused = { hour: new Date(0), modelId: '', cause: '', code: 'model_not_found', refusals: 1n };
  await db.refusalHour.create({ data: { orgId: id, keyId: key.id, ...refused } });
  await db.$executeRaw`INSERT INTO condition_change VALUES (${kept.id}, '2026-11-21', 'running', NULL)`;
  await db.$executeRaw`INSERT INTO month_total VALUES (${id}, '2026-11', 2, 4)`;
  return { id, slug, traces: [id, slug, key.id, key.prefix, kept.id, gone.id, invited], modelId: kept.id };
}

/** The tables that have a row with one of these texts. */
async function tablesWith(texts: readonly string[]): Promise<string[]> {
  const tables = await db.$queryRaw<{ name: string }[]>`
    SELECT relname AS name FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`;
  const found = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await db.$queryRawUnsafe<unknown[]>(
        `SELECT 1 FROM "${name}" t WHERE EXISTS (SELECT FROM unnest($1::text[]) x WHERE strpos(t::text, x) > 0) LIMIT 1`,
        texts,
      );
      return rows.length > 0 ? [name] : [];
    }),
  );
  return found.flat().sort();
}

/** The tables whose rows are an organization's own. */
async function tablesOfOrgs(): Promise<string[]> {
  const tables = await db.$queryRaw<{ name: string }[]>`
    SELECT relname AS name FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'org_id'
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      AND relname <> 'deleted_org'`;
  return tables.map(({ name }) => name);
}

describe('deleting an organization', () => {
  it('leaves nothing of it in any table but that it was deleted, and all of the others', async () => {
    const one = await fullOrg('Leaves nothing');
    const other = await fullOrg('Stays');
    const before = await tablesWith(other.traces);
    expect(before).toEqual(expect.arrayContaining(await tablesOfOrgs()));
    expect(await tablesWith(one.traces)).toEqual(before);
    const deleted = await fixture.control.deleteOrg(OPERATOR, { org: one.slug, confirm: 'Leaves nothing' });
    expect(value(deleted)).toEqual({ id: one.id, runnerTold: true, usageDeleted: true });
    expect(await tablesWith(one.traces)).toEqual(['audit_event', 'deleted_org']);
    // What the trail of the installation has of it is the id.
    expect(await tablesWith(one.traces.filter((trace) => trace !== one.id))).toEqual([]);
    expect(await tablesWith(other.traces)).toEqual(before);
    expect(await db.deletedOrg.findUnique({ where: { orgId: one.id } })).toMatchObject({
      deletedBy: 'operator',
      purgedAt: expect.any(Date),
    });
  });

  it('has the limiter forget it, and the runner end the models that were published', async () => {
    const { id, slug, modelId } = await fullOrg('Told');
    fixture.runner.calls.length = 0;
    value(await fixture.control.deleteOrg(OPERATOR, { org: slug, confirm: 'Told' }));
    expect(fixture.limiter.forgotten).toEqual([id]);
    expect(fixture.runner.calls).toEqual([`refresh ${modelId}`]);
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
    expect(await db.deletedOrg.findUnique({ where: { orgId: id } })).toMatchObject({
      deletedBy: owner.userId,
    });
    expect(refusal(await fixture.control.listKeys(owner, { org: slug })).code).toBe('not_found');
  });

  it('says so when no limiter could be told, and an operator can repeat it by its id', async () => {
    const { id, slug, traces } = await fullOrg('Away');
    fixture.limiter.away = true;
    const first = await fixture.control.deleteOrg(OPERATOR, { org: slug, confirm: 'Away' });
    expect(first).toMatchObject({
      value: { id, runnerTold: true, usageDeleted: true },
      notInForce: expect.stringContaining('may still be accepted'),
    });
    fixture.limiter.away = false;
    expect(value(await fixture.control.deleteOrg(OPERATOR, { org: id, confirm: '' })).id).toBe(id);
    expect(fixture.limiter.forgotten).toEqual([id]);
    expect(await tablesWith(traces)).toEqual(['audit_event', 'deleted_org']);
  });

  it('tells whether the runner could be told', async () => {
    const { slug } = await fullOrg('Runner away');
    fixture.runner.away = true;
    const deleted = await fixture.control.deleteOrg(OPERATOR, { org: slug, confirm: 'Runner away' });
    expect(value(deleted)).toMatchObject({ runnerTold: false, usageDeleted: true });
  });

  it('of two at once happens once', async () => {
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
    await expect(db.$queryRaw`SELECT purge_organization(${id})`).rejects.toThrow('exists');
    expect(await tablesWith(traces)).toEqual(before);
  });
});
