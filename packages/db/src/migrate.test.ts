import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyPostgres, eventually, type TestPostgres } from '@tidegate/testing';
import pg from 'pg';
import { MIGRATION_LOCK, migrate } from './migrate.ts';

const SHIPPED = fileURLToPath(new URL('../prisma/migrations', import.meta.url));
const INIT = '20261121000000_init';

let shipped: string[];
let server: TestPostgres;
let client: pg.Client;
let directory: string;

beforeEach(async () => {
  shipped = (await readdir(SHIPPED, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  server = await emptyPostgres();
  client = new pg.Client({ connectionString: server.url });
  await client.connect();
  directory = await mkdtemp(join(tmpdir(), 'tidegate-migrations-'));
  await cp(SHIPPED, directory, { recursive: true });
});
afterEach(async () => {
  await client.end();
  await server.drop();
  await rm(directory, { recursive: true, force: true });
});

async function addMigration(name: string, sql: string): Promise<void> {
  await cp(join(SHIPPED, INIT), join(directory, name), { recursive: true });
  await writeFile(join(directory, name, 'migration.sql'), sql);
}

async function query(sql: string): Promise<Record<string, unknown>[]> {
  return (await client.query(sql)).rows;
}

/** The test's Postgres, behind a proxy that passes nothing on to it once it was sent this text. */
async function hangingAt(text: string): Promise<{ url: string; close(): void }> {
  const { hostname, port } = new URL(server.url);
  const sockets: Socket[] = [];
  const proxy = createServer((caller) => {
    const postgres = createConnection({ host: hostname, port: Number(port) });
    sockets.push(caller, postgres);
    for (const socket of [caller, postgres]) socket.on('error', () => {});
    let hangs = false;
    caller.on('data', (sent) => {
      hangs ||= sent.includes(text);
      if (!hangs) postgres.write(sent);
    });
    postgres.on('data', (sent) => caller.write(sent));
    caller.on('close', () => postgres.destroy());
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const url = new URL(server.url);
  url.hostname = '127.0.0.1';
  url.port = String((proxy.address() as AddressInfo).port);
  return {
    url: url.href,
    close() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}

describe('migrate', () => {
  it('applies everything once, whoever else migrates at the same moment', async () => {
    const applied = await Promise.all([1, 2, 3, 4].map(() => migrate(server.url)));
    expect(applied.flat()).toEqual(shipped);
    expect(await migrate(server.url)).toEqual([]);
  });

  it('knows what it has applied, whatever the date style of the database', async () => {
    await migrate(server.url);
    await query(`ALTER DATABASE "${new URL(server.url).pathname.slice(1)}" SET datestyle TO German`);
    expect(await migrate(server.url)).toEqual([]);
  });

  it("records a migration as Prisma's own command does", async () => {
    await migrate(server.url);
    const sql = await readFile(join(SHIPPED, INIT, 'migration.sql'));
    const checksum = createHash('sha256').update(sql).digest('hex');
    expect(await query('SELECT * FROM _prisma_migrations ORDER BY migration_name LIMIT 1')).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        checksum,
        migration_name: INIT,
        started_at: expect.any(Date),
        finished_at: expect.any(Date),
        logs: null,
        rolled_back_at: null,
        applied_steps_count: 1,
      },
    ]);
  });

  it('applies only what is new, in order of name', async () => {
    await migrate(server.url);
    await addMigration('20270102000000_second', 'INSERT INTO note VALUES (2)');
    await addMigration('20270101000000_first', 'CREATE TABLE note (n int); INSERT INTO note VALUES (1)');
    expect(await migrate(server.url, { directory })).toEqual([
      '20270101000000_first',
      '20270102000000_second',
    ]);
    expect(await query('SELECT n FROM note')).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('refuses to go on when an applied migration has changed since', async () => {
    await migrate(server.url, { directory });
    await writeFile(join(directory, INIT, 'migration.sql'), 'SELECT 1');
    await addMigration('20270101000000_more', 'CREATE TABLE more ()');
    await expect(migrate(server.url, { directory })).rejects.toThrow(`${INIT} was changed`);
    expect(await query("SELECT to_regclass('more') AS more")).toEqual([{ more: null }]);
  });

  it('leaves no part of a migration that fails, and keeps those before it', async () => {
    await addMigration('20270101000000_good', 'CREATE TABLE good ()');
    await addMigration('20270102000000_bad', 'CREATE TABLE half (); SELECT nonsense()');
    await expect(migrate(server.url, { directory })).rejects.toThrow(
      '20270102000000_bad failed: function nonsense()',
    );
    expect(await query("SELECT to_regclass('half') AS half")).toEqual([{ half: null }]);
    expect(await query('SELECT migration_name FROM _prisma_migrations ORDER BY 1')).toEqual([
      ...shipped.map((name) => ({ migration_name: name })),
      { migration_name: '20270101000000_good' },
    ]);
    await addMigration('20270102000000_bad', 'CREATE TABLE half ()');
    expect(await migrate(server.url, { directory })).toEqual(['20270102000000_bad']);
  });

  it("refuses to go on after a failure that Prisma's own command recorded", async () => {
    await migrate(server.url);
    await client.query('UPDATE _prisma_migrations SET finished_at = NULL');
    await expect(migrate(server.url)).rejects.toThrow(`${INIT} failed earlier`);
  });

  it('waits for a table that is in use, without keeping others waiting behind it', async () => {
    await addMigration('20270101000000_note', 'CREATE TABLE note ()');
    await migrate(server.url, { directory });
    await addMigration('20270102000000_change', 'ALTER TABLE note ADD COLUMN n int');
    const dump = new pg.Client({ connectionString: server.url });
    await dump.connect();
    try {
      await dump.query('BEGIN; SELECT FROM note');
      const migrated = migrate(server.url, { directory });
      await eventually(async () => (await query('SELECT FROM pg_locks WHERE NOT granted')).length === 1);
      await client.query("SET lock_timeout = '20s'; SELECT FROM note");
      await dump.query('COMMIT');
      expect(await migrated).toEqual(['20270102000000_change']);
    } finally {
      await dump.end();
    }
  });

  it('outlasts another migrator that waits for a table until it gives up', async () => {
    await addMigration('20270101000000_note', 'CREATE TABLE note ()');
    await migrate(server.url, { directory });
    await addMigration('20270102000000_change', 'ALTER TABLE note ADD COLUMN n int');
    const dump = new pg.Client({ connectionString: server.url });
    await dump.connect();
    try {
      await dump.query('BEGIN; SELECT FROM note');
      const both = [1, 2].map(() => migrate(server.url, { directory, patienceMs: 6_000 }));
      await expect(Promise.race(both)).rejects.toThrow('_change failed: canceling statement due to lock');
      await dump.query('COMMIT');
      const ends = await Promise.allSettled(both);
      expect(ends).toContainEqual({ status: 'fulfilled', value: ['20270102000000_change'] });
    } finally {
      await dump.end();
    }
  });

  it('says so when somebody else migrates for too long', async () => {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const migrated = migrate(server.url, { patienceMs: 50 });
    await expect(migrated).rejects.toThrow('another migration of this database is under way');
  });

  it('says what it waits for', async () => {
    const said: string[] = [];
    const say = (line: string) => void said.push(line);
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await addMigration('20270101000000_slow', 'SELECT pg_sleep(0.3)');
    const migrated = migrate(server.url, { directory, say, sayEveryMs: 20 });
    await eventually(() => said.length > 0);
    await client.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    await migrated;
    expect(said[0]).toBe('still waiting for another migration of this database to end after 0 s');
    expect(said).toContain('still waiting for migration 20270101000000_slow after 0 s');
  });

  it.each([
    ['server_version', 'Postgres did not report its version: Query read timeout'],
    ['SET lock_timeout', 'the migration lock cannot be taken: Query read timeout'],
    ['pg_advisory_lock', 'the migration lock cannot be taken: Query read timeout'],
    ['_prisma_migrations', 'the list of applied migrations cannot be used: Query read timeout'],
    ['BEGIN', `migration ${INIT} failed: Query read timeout`],
  ])(
    'gives up on a server that stops answering at %s',
    async (text, why) => {
      const hanging = await hangingAt(text);
      try {
        await expect(
          migrate(hanging.url, { directory: SHIPPED, connectTimeoutMs: 1_000, patienceMs: 100 }),
        ).rejects.toThrow(why);
      } finally {
        hanging.close();
      }
    },
    60_000,
  );

  it('says so when its connection breaks in the middle', async () => {
    await addMigration('20270101000000_cut', 'SELECT pg_terminate_backend(pg_backend_pid())');
    await expect(migrate(server.url, { directory })).rejects.toThrow(
      '20270101000000_cut failed: terminating',
    );
  });

  it('says which version is needed, and touches nothing, on a server that is too old', async () => {
    await query('CREATE SCHEMA old');
    await query(
      "CREATE FUNCTION old.current_setting(text) RETURNS text LANGUAGE sql RETURN '13.23 (Debian 13.23-1)'",
    );
    const url = new URL(server.url);
    url.searchParams.set('options', '-c search_path=old,pg_catalog,public');
    await expect(migrate(url.href)).rejects.toThrow(
      /^Postgres 13\.23 is too old: Tidegate needs version 14 or newer$/,
    );
    expect(await query("SELECT to_regclass('public._prisma_migrations') AS records")).toEqual([
      { records: null },
    ]);
  });

  it('gives up on a server that accepts connections and says nothing, and on one that is not there', async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const url = `postgresql://tidegate@127.0.0.1:${port}/tidegate`;
    try {
      await expect(migrate(url, { directory: SHIPPED, connectTimeoutMs: 50 })).rejects.toThrow(
        'no connection to Postgres: timeout expired',
      );
      await eventually(() => sockets.length > 0);
      expect(sockets).toHaveLength(1);
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
    await once(silent, 'close');
    await expect(migrate(url)).rejects.toThrow('no connection to Postgres: connect ECONNREFUSED');
  });

  it('says what a user who does not own the database lacks', async () => {
    const url = new URL(server.url);
    const role = `guest_of_${url.pathname.slice(1)}`;
    await query(`CREATE ROLE ${role} LOGIN PASSWORD 'guest'`);
    try {
      await expect(migrate(Object.assign(url, { username: role, password: 'guest' }).href)).rejects.toThrow(
        'permission denied for schema public (let the user in DATABASE_URL own the database)',
      );
    } finally {
      await query(`DROP ROLE ${role}`);
    }
  });

  it('ships the plans Free, Starter and Pro, images with Pro only [auth.images.pro]', async () => {
    await migrate(server.url);
    expect(await query('SELECT id, name, images FROM plan ORDER BY position')).toEqual([
      { id: 'plan_free', name: 'Free', images: false },
      { id: 'plan_starter', name: 'Starter', images: false },
      { id: 'plan_pro', name: 'Pro', images: true },
    ]);
  });
});

describe('a migration', () => {
  it('that counts refusals by the day also counts those already recorded', async () => {
    const days = shipped.findIndex((name) => name.endsWith('_refusal_days'));
    for (const name of shipped.slice(days)) await rm(join(directory, name), { recursive: true });
    await migrate(server.url, { directory });
    await query(
      "INSERT INTO org (id, slug, name, plan_id) VALUES ('org_abcdefghijkl', 'o', 'O', 'plan_pro')",
    );
    await query(`
      INSERT INTO api_key (id, org_id, name, prefix, hash, all_models, requests_per_minute, requests_at_once)
      VALUES ('k', 'org_abcdefghijkl', 'K', 'ti_k', sha256(''), true, 60, 4)`);
    await query(`
      INSERT INTO refusal_hour (org_id, hour, key_id, model_id, code, cause, refusals)
      SELECT 'org_abcdefghijkl', hour::timestamptz, 'k', '', 'invalid_json', '', 3
      FROM unnest(ARRAY['2026-11-20T22:00Z', '2026-11-20T23:00Z', '2026-11-21T00:00Z']) hour`);
    await migrate(server.url);
    expect(
      await query(`
        SELECT day::text, refusals::int, extract(hour FROM first_hour AT TIME ZONE 'UTC')::int AS first,
          extract(hour FROM last_hour AT TIME ZONE 'UTC')::int AS last
        FROM refusal_day ORDER BY day`),
    ).toEqual([
      { day: '2026-11-20', refusals: 6, first: 22, last: 23 },
      { day: '2026-11-21', refusals: 3, first: 0, last: 0 },
    ]);
  });
});
