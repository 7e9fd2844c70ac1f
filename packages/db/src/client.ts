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

/** A client on `url` (`postgresql://…`). Connects with the first query, not before. */
export function createDb(url: string, options: DbOptions = {}): Db {
  const adapter = new PrismaPg({
    connectionString: url,
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
  });
  return new PrismaClient({ adapter });
}

/** Ends the client's connections; idempotent. */
export async function closeDb(db: Db): Promise<void> {
  await db.$disconnect();
}
