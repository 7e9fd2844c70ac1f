import { randomBytes } from 'node:crypto';
import type { DatabaseService } from '@tidegate/db';
import pg from 'pg';
import { TEST_ENV, testEnv } from './env.ts';

export interface TestPostgres {
  readonly url: string;
  /** Ends the database's sessions, and makes it unavailable from then on; idempotent. */
  drop(): Promise<void>;
}

const newName = (kind: string): string => `tidegate_${kind}_${randomBytes(6).toString('hex')}`;

/** Creates a migrated database, with the shipped plans, on the run's server. */
export async function testPostgres(): Promise<TestPostgres> {
  const serverUrl = testEnv('postgres');
  const name = newName('test');
  // The default strategy writes the copy to the log page by page, for three times the CPU time.
  await execute(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${testEnv('template')} STRATEGY FILE_COPY`);
  return { url: urlOf(serverUrl, name), drop: () => closeDatabase(serverUrl, name) };
}

/** Creates an empty database on the run's server, without migrations. `drop` removes it. */
export async function emptyPostgres(): Promise<TestPostgres> {
  const serverUrl = testEnv('postgres');
  const name = newName('empty');
  await execute(serverUrl, `CREATE DATABASE ${name}`);
  return { url: urlOf(serverUrl, name), drop: () => dropDatabase(serverUrl, name) };
}

/** Creates the migrated database that tests copy, for global setup. Returns its name. */
export async function createTemplate(serverUrl: string): Promise<string> {
  const name = newName('template');
  await execute(serverUrl, `CREATE DATABASE ${name}`);
  // Loaded only here, because most test files use this package but no database.
  const { migrate } = await import('@tidegate/db');
  await migrate(urlOf(serverUrl, name));
  return name;
}

/**
 * The URL by which a session has the rights of a service's role alone, as after the service's own
 * login. Tests share a server, so a login's password there would be shared, too.
 *
 * @param url of a superuser, or of a login that has the role
 */
export function urlAs(service: DatabaseService, url: string): string {
  const limited = new URL(url);
  limited.searchParams.set('options', `-c role=tidegate_${service}`);
  return limited.href;
}

export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await execute(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

/**
 * Drops a database, or only closes it if the server keeps its data on disk, in a folder that is
 * removed as a whole. ext4 takes long to create the 300 files of a database where many were just
 * removed. Without this, that is half of the server's CPU time.
 */
async function closeDatabase(serverUrl: string, name: string): Promise<void> {
  if (process.env[TEST_ENV.keepDatabases] === undefined) return dropDatabase(serverUrl, name);
  await execute(serverUrl, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await execute(
    serverUrl,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
  );
}

function urlOf(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.toString();
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
