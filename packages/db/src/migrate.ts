import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { connect, queryWithin } from './connect.ts';
import { LOCK_NOT_AVAILABLE } from './explain.ts';
import { postgresTooOld } from './server-version.ts';

/**
 * The advisory lock that `prisma migrate deploy` takes, so that it and this runner exclude each
 * other.
 */
export const MIGRATION_LOCK = 72707369;
/**
 * How long a change waits for a table that is in use. Whoever comes after it waits behind it, even
 * a reader. So it gives up soon and tries again, until a dump or a long transaction is over.
 */
const TABLE_TIMEOUT_MS = 2_000;
const TRY_AGAIN_MS = 3_000;
const PATIENCE_MS = 10 * 60_000;
/** Another migrator may wait for tables as long as this one, and only then do its work. */
const OTHER_MIGRATOR_FACTOR = 2;
/**
 * Postgres' code for a missing privilege. Since version 15, only a database's owner may create
 * tables.
 */
export const NO_PRIVILEGE = '42501';
const CONNECT_TIMEOUT_MS = 10_000;
/**
 * A quick statement may take this many times as long as connecting. Only a server that does not
 * answer needs longer.
 */
const QUICK_STATEMENT_FACTOR = 3;
const SAY_EVERY_MS = 30_000;

/** This release's migrations, in Prisma's layout. */
export const MIGRATIONS = fileURLToPath(new URL('../prisma/migrations', import.meta.url));

const RECORDS = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                  VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum            VARCHAR(64) NOT NULL,
    finished_at         TIMESTAMPTZ,
    migration_name      VARCHAR(255) NOT NULL,
    logs                TEXT,
    rolled_back_at      TIMESTAMPTZ,
    started_at          TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`;

interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

interface MigrationRecord {
  readonly migration_name: string;
  readonly checksum: string;
  readonly finished: boolean;
}

export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

export interface MigrateOptions {
  /** Migrations in Prisma's layout. Default: this package's. */
  readonly directory?: string;
  /**
   * How long connecting may take. A statement that is quick may take three times as long. The SQL
   * of a migration has no limit.
   */
  readonly connectTimeoutMs?: number;
  /** How long tables may be in use. Another migrator may take twice as long. */
  readonly patienceMs?: number;
  /** Called every half minute with a line that says what is waited for. */
  readonly say?: (line: string) => void;
  readonly sayEveryMs?: number;
}

/** How a migration talks to Postgres. */
interface MigrationConnection {
  readonly client: pg.Client;
  /** How long Postgres may take to answer a quick statement. */
  readonly answerTimeoutMs: number;
  readonly patienceMs: number;
  /** Resolves as `work` does. Meanwhile says every half minute what is waited for. */
  readonly waiting: <T>(what: string, work: Promise<T>) => Promise<T>;
}

/**
 * Applies the migrations that the database does not have yet, in order, each in its own
 * transaction. Records them as Prisma does, so that `prisma migrate deploy` can take over at any
 * time. Concurrent callers wait for each other. If a table is in use, waits for it for some
 * minutes.
 *
 * @returns the names of the applied migrations, oldest first
 * @throws MigrationError when Postgres cannot be reached or used, is too old, or does not answer,
 * when another migrator takes too long, when the file of an applied migration has changed, or when
 * a migration fails or has failed earlier and was not resolved
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<string[]> {
  const { directory = MIGRATIONS, connectTimeoutMs = CONNECT_TIMEOUT_MS, patienceMs = PATIENCE_MS } = options;
  const migrations = await readMigrations(directory);
  const client = await connect(url, connectTimeoutMs).catch((cause: Error) => {
    throw new MigrationError(`no connection to Postgres: ${cause.message}`, { cause });
  });
  const waiting = sayingEvery(options.sayEveryMs ?? SAY_EVERY_MS, options.say);
  const connection: MigrationConnection = {
    client,
    answerTimeoutMs: QUICK_STATEMENT_FACTOR * connectTimeoutMs,
    patienceMs,
    waiting,
  };
  try {
    await checkVersion(connection);
    const pending = findPending(migrations, await recordsOf(connection));
    const deadlineMs = performance.now() + patienceMs;
    for (const migration of pending)
      await waiting(`migration ${migration.name}`, applyOnceFree(connection, migration, deadlineMs));
    return pending.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

const sayingEvery =
  (everyMs: number, say: MigrateOptions['say'] = () => {}): MigrationConnection['waiting'] =>
  async (what, work) => {
    const beganMs = performance.now();
    const seconds = () => Math.round((performance.now() - beganMs) / 1_000);
    const timer = setInterval(() => say(`still waiting for ${what} after ${seconds()} s`), everyMs);
    try {
      return await work;
    } finally {
      clearInterval(timer);
    }
  };

/** Runs a quick statement, which may wait for a lock for at most `waitMs`. */
const runQuick = <T extends pg.QueryResultRow>(
  { client, answerTimeoutMs }: MigrationConnection,
  text: string,
  values: readonly unknown[] = [],
  waitMs = 0,
): Promise<pg.QueryResult<T>> => queryWithin<T>(client, waitMs + answerTimeoutMs, text, values);

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(directory, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

/** A server that is too old would apply some migrations before it fails. */
async function checkVersion(connection: MigrationConnection): Promise<void> {
  const asked = runQuick<{ version: string }>(
    connection,
    "SELECT current_setting('server_version') AS version",
  );
  const { rows } = await asked.catch((cause: Error) => {
    throw new MigrationError(`Postgres did not report its version: ${cause.message}`, { cause });
  });
  const problem = postgresTooOld(rows[0]?.version ?? '');
  if (problem !== null) throw new MigrationError(problem);
}

/** Waits until nobody else is migrating, then reads what has been applied. */
async function recordsOf(connection: MigrationConnection): Promise<MigrationRecord[]> {
  const othersTimeoutMs = OTHER_MIGRATOR_FACTOR * connection.patienceMs;
  try {
    await runQuick(connection, `SET lock_timeout = ${othersTimeoutMs}`);
    const taken = runQuick(connection, 'SELECT pg_advisory_lock($1)', [MIGRATION_LOCK], othersTimeoutMs);
    await connection.waiting('another migration of this database to end', taken);
  } catch (cause) {
    const { code, message } = cause as pg.DatabaseError;
    const why =
      code === LOCK_NOT_AVAILABLE
        ? 'another migration of this database is under way: try again later'
        : `the migration lock cannot be taken: ${message}`;
    throw new MigrationError(why, { cause });
  }
  try {
    await runQuick(connection, `SET lock_timeout = ${TABLE_TIMEOUT_MS}`);
    await runQuick(connection, RECORDS, [], TABLE_TIMEOUT_MS);
    return await readRecords(connection);
  } catch (cause) {
    const { code, message } = cause as pg.DatabaseError;
    const todo = code === NO_PRIVILEGE ? ' (let the user in DATABASE_URL own the database)' : '';
    throw new MigrationError(`the list of applied migrations cannot be used: ${message}${todo}`, { cause });
  }
}

async function readRecords(connection: MigrationConnection): Promise<MigrationRecord[]> {
  const { rows } = await runQuick<MigrationRecord>(
    connection,
    `SELECT migration_name, checksum, finished_at IS NOT NULL AS finished FROM _prisma_migrations
     WHERE rolled_back_at IS NULL`,
  );
  return rows;
}

function findPending(migrations: readonly Migration[], records: readonly MigrationRecord[]): Migration[] {
  const failed = records.find(({ finished }) => !finished);
  if (failed !== undefined)
    throw new MigrationError(
      `migration ${failed.migration_name} failed earlier: resolve it, then migrate again`,
    );
  const applied = new Map(records.map((record) => [record.migration_name, record.checksum]));
  return migrations.filter(({ name, checksum }) => {
    const recorded = applied.get(name);
    if (recorded !== undefined && recorded !== checksum)
      throw new MigrationError(`migration ${name} was changed after it was applied to this database`);
    return recorded === undefined;
  });
}

/** Applies a migration once no other transaction holds what it changes. */
async function applyOnceFree(
  connection: MigrationConnection,
  migration: Migration,
  deadlineMs: number,
): Promise<void> {
  for (;;) {
    try {
      return await apply(connection, migration);
    } catch (error) {
      const lockTimedOut = ((error as MigrationError).cause as pg.DatabaseError).code === LOCK_NOT_AVAILABLE;
      if (!lockTimedOut || performance.now() > deadlineMs) throw error;
    }
    await setTimeout(TRY_AGAIN_MS);
  }
}

async function apply(connection: MigrationConnection, migration: Migration): Promise<void> {
  const startedAt = new Date();
  try {
    await runQuick(connection, 'BEGIN');
    await connection.client.query(migration.sql);
    await runQuick(
      connection,
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
       VALUES ($1, $2, $3, $4, now(), 1)`,
      [randomUUID(), migration.checksum, migration.name, startedAt],
    );
    await connection.client.query('COMMIT');
  } catch (cause) {
    // If the connection is lost, Postgres rolls back by itself.
    await runQuick(connection, 'ROLLBACK').catch(() => {});
    throw new MigrationError(`migration ${migration.name} failed: ${(cause as Error).message}`, { cause });
  }
}
