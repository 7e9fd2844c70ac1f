import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { connect, queryWithin } from './connect.ts';
import { MIGRATION_LOCK, NO_PRIVILEGE } from './migrate.ts';

/** The services that use Postgres. A migration creates the role `tidegate_SERVICE` for each. */
export const DATABASE_SERVICES = ['limiter', 'metering', 'runner', 'console', 'ctl'] as const;
export type DatabaseService = (typeof DATABASE_SERVICES)[number];

const CONNECT_TIMEOUT_MS = 10_000;
const ANSWER_TIMEOUT_MS = 30_000;
/** Longer than a migrator that came first may take. */
const LOCK_TIMEOUT_MS = 30 * 60_000;
const SCRAM_ITERATIONS = 4_096;

const loginOf = (service: DatabaseService): string => `tidegate_${service}_login`;

/**
 * Creates a login for each given service, or changes the password of an existing one. The login has
 * the rights of the service's role. The database must be migrated.
 *
 * @param url of a user that may create roles
 * @param answerTimeoutMs for each statement, without the time for which another migrator is waited
 *   for
 * @throws ConnectError, or an error that says why a login cannot be created and, if the user may
 *   not create roles, what to do
 */
export async function createLogins(
  url: string,
  passwords: Readonly<Partial<Record<DatabaseService, string>>>,
  answerTimeoutMs = ANSWER_TIMEOUT_MS,
): Promise<void> {
  const client = await connect(url, CONNECT_TIMEOUT_MS);
  try {
    // Two sessions cannot change one role at the same moment.
    await queryWithin(client, LOCK_TIMEOUT_MS, 'SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    for (const service of DATABASE_SERVICES) {
      const password = passwords[service];
      if (password !== undefined) await createLogin(client, service, password, answerTimeoutMs);
    }
  } finally {
    await client.end();
  }
}

async function createLogin(
  client: pg.Client,
  service: DatabaseService,
  password: string,
  answerTimeoutMs: number,
): Promise<void> {
  const login = loginOf(service);
  try {
    const { rows } = await queryWithin<{ sql: string }>(
      client,
      answerTimeoutMs,
      `SELECT format(
         CASE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = $1) THEN 'ALTER' ELSE 'CREATE' END
         || ' ROLE %I LOGIN PASSWORD %L; GRANT %I TO %I', $1::text, $2::text, $3::text, $1::text) AS sql`,
      [login, scramVerifier(password), `tidegate_${service}`],
    );
    await queryWithin(client, answerTimeoutMs, rows[0]?.sql ?? '');
  } catch (cause) {
    const { code, message } = cause as pg.DatabaseError;
    throw new Error(
      `the login ${login} cannot be created or changed: ${message}${code === NO_PRIVILEGE ? MAY_NOT_CREATE_ROLES : ''}`,
      { cause },
    );
  }
}

const MAY_NOT_CREATE_ROLES =
  '. Let the user in DATABASE_URL create roles (since Postgres 16 it may change and grant only those that it created), or create the logins as docs/accounts.md says and leave SERVICE_DATABASE_PASSWORDS unset';

/** The URL with which a service logs in to the database of `url`. */
export function loginUrl(url: string, service: DatabaseService, password: string): string {
  const login = new URL(url);
  login.username = loginOf(service);
  login.password = encodeURIComponent(password);
  return login.href;
}

/**
 * What Postgres stores in place of a password (RFC 5802). It is computed here, so that no
 * statement, and no log of statements, contains the password itself.
 */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, 'sha256');
  const keyFor = (name: string) => createHmac('sha256', salted).update(name).digest();
  const stored = createHash('sha256').update(keyFor('Client Key')).digest('base64');
  const server = keyFor('Server Key').toString('base64');
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${stored}:${server}`;
}
