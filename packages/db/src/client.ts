import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from './generated/client.ts';

/** The typed client. Each process makes one and closes it with `closeDb`. */
export type Db = PrismaClient;

export interface DbOptions {
  /** Connections of the pool; default 10. */
  readonly maxConnections?: number;
  /** How long a query or a transaction may wait for a connection before it fails; default 5,000. */
  readonly connectTimeoutMs?: number;
  /** How long a transaction may take, from its begin to its end; default 5,000. */
  readonly transactionTimeoutMs?: number;
  /** How long a statement may take before Postgres ends it; default 30,000. It fails 1 s later if Postgres says nothing at all. */
  readonly statementTimeoutMs?: number;
}

const SILENCE_MS = 1_000;

/** A client on `url` (`postgresql://…`). Connects with the first query, not before. */
export function createDb(url: string, options: DbOptions = {}): Db {
  const { maxConnections = 10, connectTimeoutMs = 5_000, transactionTimeoutMs = 5_000 } = options;
  const { statementTimeoutMs = 30_000 } = options;
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + SILENCE_MS,
    keepAlive: true,
  });
  pool.on('release', (_error, client) => endUnlessReady(client));
  const adapter = new PrismaPg(pool, { disposeExternalPool: true });
  const transactionOptions = { maxWait: connectTimeoutMs + SILENCE_MS, timeout: transactionTimeoutMs };
  return new PrismaClient({ adapter, transactionOptions });
}

/** A connection that owes an answer may be within a transaction whose end it was never told: nobody else is to have it. */
function endUnlessReady(client: pg.PoolClient & { readonly readyForQuery?: boolean }): void {
  if (!client.readyForQuery) (client as unknown as pg.Client).end().catch(() => {});
}

/** Ends the client's connections; idempotent. */
export async function closeDb(db: Db): Promise<void> {
  await db.$disconnect();
}
