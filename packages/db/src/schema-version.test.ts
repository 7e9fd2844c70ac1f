import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { emptyPostgres, eventually, PATIENT_DB, type TestPostgres } from '@tidegate/testing';
import { closeDb, createDb, type Db } from './client.ts';
import { MIGRATIONS, migrate } from './migrate.ts';
import { SchemaVersion } from './schema-version.ts';

const NEXT = '29991231000000_next';

let server: TestPostgres;
let db: Db;
/** The directory of the next release's migrations. */
let directory: string;

beforeAll(async () => {
  server = await emptyPostgres();
  db = createDb(server.url, PATIENT_DB);
  directory = await mkdtemp(join(tmpdir(), 'tidegate-next-'));
  await cp(MIGRATIONS, directory, { recursive: true });
  await mkdir(join(directory, NEXT));
});
afterAll(async () => {
  await closeDb(db);
  await server.drop();
  await rm(directory, { recursive: true, force: true });
});

describe('a database', () => {
  it('that lacks migrations is behind until they are applied, and one that has more is not', async () => {
    let nowMs = 0;
    const told: string[] = [];
    const watched = (options: { directory?: string } = {}) =>
      new SchemaVersion({ db, nowMs: () => nowMs, onBehind: (problem) => told.push(problem), ...options });
    const [current, next] = [watched(), watched({ directory })];
    // A late answer serves the next caller.
    expect(await eventually(() => current.problem())).toMatch(
      /^the database lacks \d+ migrations of this release: run migrate/,
    );
    await migrate(server.url);
    expect(await current.problem()).toMatch(/lacks/);
    nowMs += 2_000;
    await eventually(async () => (await current.problem()) === null);
    expect(await eventually(() => next.problem())).toMatch(
      `the database lacks migration ${NEXT} of this release`,
    );
    expect(told).toHaveLength(2);
    await db.$executeRaw`INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('1', '', ${NEXT})`;
    expect(await next.missing()).toEqual([NEXT]);
    await db.$executeRaw`UPDATE _prisma_migrations SET finished_at = now() WHERE id = '1'`;
    expect(await next.missing()).toEqual([]);
    nowMs += 60_000;
    expect(await current.problem()).toBeNull();
  });

  it('can be asked with the rights of a service, and is behind if it refuses them', async () => {
    const url = new URL(server.url);
    url.searchParams.set('options', '-c role=tidegate_limiter');
    const limiter = createDb(url.href, PATIENT_DB);
    try {
      const schema = new SchemaVersion({ db: limiter, nowMs: () => 0 });
      expect(await schema.missing()).toEqual([]);
      await db.$executeRaw`REVOKE SELECT (migration_name) ON _prisma_migrations FROM tidegate_limiter`;
      expect(await schema.missing()).not.toEqual([]);
    } finally {
      await closeDb(limiter);
    }
  });

  it('on a server that is too old is behind, and the server is named', async () => {
    const old = { $queryRaw: async () => [{ version: '13.23' }] } as unknown as Pick<Db, '$queryRaw'>;
    expect(await new SchemaVersion({ db: old, nowMs: () => 0 }).problem()).toBe(
      'Postgres 13.23 is too old: Tidegate needs version 14 or newer',
    );
  });

  it('that cannot be asked leaves the last answer standing, for whoever needs no Postgres', async () => {
    const away = createDb('postgresql://nobody@127.0.0.1:1/none');
    expect(await new SchemaVersion({ db: away, nowMs: () => 0 }).problem()).toBeNull();
    await closeDb(away);
  });
});
