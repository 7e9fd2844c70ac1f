import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from './generated/client.ts';

/** The typed client. Each process creates one and closes it with `closeDb`. */
export type Db = PrismaClient;

export interface DbOptions {
  /** The most connections in the pool. Default: 10. */
  readonly maxConnections?: number;
  /** How long a query or a transaction may wait for a connection. Default: 5,000. */
  readonly connectTimeoutMs?: number;
  /** How long a transaction may take. Default: 5,000. */
  readonly transactionTimeoutMs?: number;
  /**
   * How long a statement may take before Postgres ends it. Default: 30,000. It fails 1 s later if
   * Postgres does not answer at all.
   */
  readonly statementTimeoutMs?: number;
}

/** A statement without an answer fails this long after `statementTimeoutMs`. */
export const SILENCE_MS = 1_000;
/**
 * How long an idle connection is kept. It is longer than idle services wait between two queries,
 * because a new connection costs both sides many times more than the query.
 */
const IDLE_MS = 60_000;

/**
 * Sets what must not depend on the defaults of the database or the user. Prisma sends and reads
 * times without a zone and takes them for UTC. It reads only ISO 8601. A transaction that has
 * waited for a lock must see what was committed in the meantime.
 */
const SESSION = `SET TIME ZONE 'UTC'; SET DateStyle TO 'ISO';
  SET default_transaction_isolation TO 'read committed'`;

/** Creates a client for `url` (`postgresql://…`). It connects with the first query. */
export function createDb(url: string, options: DbOptions = {}): Db {
  const { maxConnections = 10, connectTimeoutMs = 5_000, transactionTimeoutMs = 5_000 } = options;
  const { statementTimeoutMs = 30_000 } = options;
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + SILENCE_MS,
    idleTimeoutMillis: IDLE_MS,
    keepAlive: true,
    onConnect: (client) => client.query(SESSION),
  });
  pool.on('release', (_error, client) => endUnlessReady(client));
  const adapter = new PrismaPg(pool, { disposeExternalPool: true });
  const transactionOptions = { maxWait: connectTimeoutMs + SILENCE_MS, timeout: transactionTimeoutMs };
  return new PrismaClient({ adapter, transactionOptions });
}

/**
 * Ends a connection that still owes an answer. It may be inside a transaction, so no one else may
 * get it.
 */
function endUnlessReady(client: pg.PoolClient & { readonly readyForQuery?: boolean }): void {
  if (!client.readyForQuery) (client as unknown as pg.Client).end().catch(() => {});
}

/** Ends the client's connections; idempotent. */
export async function closeDb(db: Db): Promise<void> {
  await db.$disconnect();
}
