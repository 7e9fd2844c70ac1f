import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyPostgres, PATIENT_DB, type TestPostgres, testPostgres } from '@tidegate/testing';
import pg from 'pg';
import { closeDb, createDb } from './client.ts';
import { readConfig } from './config.ts';
import { createLogins, type DatabaseService, loginUrl } from './logins.ts';
import { migrate } from './migrate.ts';
import { dropOldRequestPartitions, ensureRequestPartitions, listRequestPartitions } from './partitions.ts';

const PASSWORD = randomBytes(16).toString('hex');
const SHIPPED = fileURLToPath(new URL('../prisma/migrations', import.meta.url));
const DAY_MS = 86_400_000;

let server: TestPostgres;
beforeEach(async () => {
  server = await testPostgres();
});
afterEach(() => server.drop());

async function asService<T>(service: DatabaseService, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: loginUrl(server.url, service, PASSWORD) });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

describe('the login of a service', () => {
  it('is given up if Postgres does not answer in time', async () => {
    await createLogins(server.url, { runner: PASSWORD });
    const other = new pg.Client({ connectionString: server.url });
    await other.connect();
    try {
      await other.query('BEGIN; ALTER ROLE tidegate_runner_login CONNECTION LIMIT -1');
      await expect(createLogins(server.url, { runner: PASSWORD }, 1_000)).rejects.toThrow(
        'the login tidegate_runner_login cannot be created or changed: Query read timeout',
      );
    } finally {
      await other.end();
    }
  });

  it('has a password that can be changed, and the rights of its role', async () => {
    await createLogins(server.url, { runner: 'another-password-than-that' });
    await createLogins(server.url, { runner: PASSWORD });
    expect(await asService('runner', (client) => client.query('SELECT id FROM model'))).toMatchObject({
      rows: [],
    });
  });

  it.each<[DatabaseService, string]>([
    ['limiter', 'UPDATE org SET limits_version = 0'],
    ['limiter', 'DELETE FROM api_key'],
    ['limiter', 'SELECT password FROM account'],
    ['metering', 'SELECT hash FROM api_key'],
    ['metering', 'UPDATE request SET charged_tokens = 0'],
    ['metering', 'CREATE TABLE mine ()'],
    ['runner', "UPDATE model SET settings = '{}'"],
    ['runner', 'SELECT 1 FROM org'],
    ['console', 'DELETE FROM audit_event'],
    ['console', "UPDATE audit_event SET actor = 'nobody'"],
    ['ctl', 'TRUNCATE audit_event'],
    ['ctl', 'SELECT * FROM session; DROP TABLE session'],
  ])('of %s refuses %s', async (service, sql) => {
    await createLogins(server.url, { [service]: PASSWORD });
    await expect(asService(service, (client) => client.query(sql))).rejects.toMatchObject({
      message: expect.stringMatching(/permission denied|must be owner/),
    });
  });

  it('of metering creates partitions of requests and drops old ones, but none of the last 31 days', async () => {
    await createLogins(server.url, { metering: PASSWORD });
    const db = createDb(loginUrl(server.url, 'metering', PASSWORD), { ...PATIENT_DB, maxConnections: 1 });
    const nowMs = Date.now();
    const daysAgo = (days: number) => new Date(nowMs - days * DAY_MS).toISOString().slice(0, 10);
    try {
      await ensureRequestPartitions(db, [daysAgo(40), daysAgo(20), daysAgo(0)]);
      expect(await dropOldRequestPartitions(db, daysAgo(-2))).toEqual([daysAgo(40)]);
      expect(await listRequestPartitions(db)).toEqual([daysAgo(20), daysAgo(0)]);
    } finally {
      await closeDb(db);
    }
  });

  it('of metering drops no day when asked for the same date BC', async () => {
    await createLogins(server.url, { metering: PASSWORD });
    const today = new Date().toISOString().slice(0, 10);
    const drop = `SELECT drop_request_partition('${today} BC') AS dropped`;
    await asService('metering', (client) => client.query(`SELECT create_request_partition('${today}')`));
    const { rows } = await asService('metering', (client) => client.query(drop));
    expect(rows).toEqual([{ dropped: false }]);
  });
});

describe('a command, or a workload of a cluster', () => {
  const publish = (driver: string, settings: object) => `
    INSERT INTO model (id, org_id, name, kind, mode, driver, context_tokens, settings, condition)
    VALUES ('m_${driver}', 'org_000000000000', '${driver}', 'text', 'always_on', '${driver}', 1,
      '${JSON.stringify(settings)}', 'stopped')`;
  const process = publish('process', { command: 'serve', startTimeoutS: 5 });
  const kubernetes = publish('kubernetes', { namespace: 'gpu', kind: 'deployment', name: 'a' });
  const as = (service: DatabaseService, sql: string) => asService(service, (client) => client.query(sql));
  const refused = { code: '42501', message: expect.stringContaining('only an operator') };

  beforeEach(async () => {
    await createLogins(server.url, { console: PASSWORD, ctl: PASSWORD });
    await as(
      'ctl',
      "INSERT INTO org (id, slug, name, plan_id) SELECT 'org_000000000000', 'o', 'O', min(id) FROM plan",
    );
  });

  it.each([process, kubernetes])(
    'is published and changed by ctl, and not by the console: %#',
    async (sql) => {
      await expect(as('console', sql)).rejects.toMatchObject(refused);
      await as('ctl', sql);
      for (const field of ['command', 'namespace', 'name', 'kind'])
        await expect(
          as('console', `UPDATE model SET settings = settings || '{"${field}":"other"}'`),
        ).rejects.toMatchObject(refused);
      await as('ctl', `UPDATE model SET settings = settings || '{"command":"other"}'`);
    },
  );

  it('has times and counts that owners may change, just as they may publish and change models at URLs', async () => {
    await as('ctl', process);
    await as('console', `UPDATE model SET settings = settings || '{"startTimeoutS":9}', version = 2`);
    await as('console', `UPDATE model SET settings = settings - 'startTimeoutS', deleted_at = now()`);
    await as('console', publish('external', { urls: ['http://a.example/v1'] }));
    await as(
      'console',
      `UPDATE model SET settings = '{"urls":["http://b.example/v1"]}' WHERE driver = 'external'`,
    );
  });
});

describe('an audit event of no organization', () => {
  const sql =
    "INSERT INTO audit_event (id, actor, action, target, details) VALUES ('a', 'ctl', 'plan.set', 'p', '{}')";

  it('is written by ctl, and not by the console', async () => {
    await createLogins(server.url, { console: PASSWORD, ctl: PASSWORD });
    await expect(asService('console', (client) => client.query(sql))).rejects.toMatchObject({
      code: '42501',
      message: expect.stringContaining('only an operator'),
    });
    await asService('ctl', (client) => client.query(sql));
  });
});

describe('a user that may not create roles', () => {
  let empty: TestPostgres;
  let superuser: pg.Client;
  let name: string;
  let url: string;
  beforeEach(async () => {
    empty = await emptyPostgres();
    superuser = new pg.Client({ connectionString: server.url });
    await superuser.connect();
    name = new URL(empty.url).pathname.slice(1);
    await superuser.query(`CREATE ROLE ${name} LOGIN PASSWORD '${PASSWORD}'`);
    await superuser.query(`ALTER DATABASE ${name} OWNER TO ${name}`);
    url = Object.assign(new URL(empty.url), { username: name, password: PASSWORD }).href;
  });
  afterEach(async () => {
    await empty.drop();
    await superuser.query(`DROP ROLE ${name}`);
    await superuser.end();
  });

  it('migrates where the roles already exist', async () => {
    expect(await migrate(url)).not.toEqual([]);
  });

  it('learns what to do if it has to create logins', async () => {
    await expect(createLogins(url, { ctl: PASSWORD })).rejects.toThrow(
      /^the login tidegate_ctl_login cannot be created or changed: .*leave SERVICE_DATABASE_PASSWORDS unset$/,
    );
  });

  it('learns that the attribute CREATEROLE is not enough where another user created the roles', async () => {
    await superuser.query(`ALTER ROLE ${name} CREATEROLE`);
    await createLogins(server.url, { ctl: PASSWORD });
    await expect(createLogins(url, { ctl: PASSWORD })).rejects.toThrow(
      /permission denied.*\(since Postgres 16 it may change and grant only those that it created\)/,
    );
  });

  it('learns what to do where the roles do not exist', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tidegate-migrations-'));
    try {
      await cp(SHIPPED, directory, { recursive: true });
      const file = join(directory, '20261122000001_roles/migration.sql');
      await writeFile(file, (await readFile(file, 'utf8')).replaceAll('tidegate_', `${name}_`));
      await expect(migrate(url, { directory })).rejects.toThrow(
        `${name} may not create the role ${name}_limiter: run the statements of docs/accounts.md first`,
      );
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe('SERVICE_DATABASE_PASSWORDS', () => {
  const read = (text: string) =>
    readConfig({ DATABASE_URL: server.url, SERVICE_DATABASE_PASSWORDS: text }).passwords;

  it('has a password for some services, or is not set', () => {
    expect(read(`limiter:${PASSWORD}, ctl:${PASSWORD}`)).toEqual({ limiter: PASSWORD, ctl: PASSWORD });
    expect(readConfig({ DATABASE_URL: server.url }).passwords).toEqual({});
  });

  it.each([
    `gateway:${PASSWORD}`,
    'limiter:short',
    'limiter',
    `ctl:${PASSWORD},ctl:${PASSWORD}`,
    'ctl:p@ss/word:of-a-url',
    `ctl:${PASSWORD}:and-more`,
  ])('is refused as %s', (text) =>
    expect(() => read(text)).toThrow('SERVICE_DATABASE_PASSWORDS: must be SERVICE:PASSWORD'),
  );
});
