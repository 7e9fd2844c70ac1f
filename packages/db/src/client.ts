import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.ts';

/** The typed client. Each process makes one and closes it with `closeDb`. */
export type Db = PrismaClient;

export interface DbOptions {
  /** Connections of the pool; default 10. */
  readonly maxConnections?: number;
  /** How long a query may wait for a connection before it fails; default 5,000. */
  readonly connectTimeoutMs?: number;
}

/** Prisma's own are too short for a busy machine: an account's password alone takes a second of a core there. */
const TRANSACTION_TIMES = { maxWait: 10_000, timeout: 20_000 };

/** A client on `url` (`postgresql://…`). Connects with the first query, not before. */
export function createDb(url: string, options: DbOptions = {}): Db {
  const adapter = new PrismaPg({
    connectionString: url,
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
  });
  return new PrismaClient({ adapter, transactionOptions: TRANSACTION_TIMES });
}

/** Ends the client's connections; idempotent. */
export async function closeDb(db: Db): Promise<void> {
  await db.$disconnect();
}
