import { type FoundServer, readPublished } from '@tidegate/control';
import { closeDb, createDb, type Db } from '@tidegate/db';

/** What a start says about the model servers of this machine. */
export interface Discovery {
  readonly servers: readonly FoundServer[];
  /** True: there is no organization to publish for yet. */
  readonly needsOrg: boolean;
}

/**
 * Keeps what no organization has published yet. If that cannot be found out, everything counts as
 * not published. Never rejects: this must neither keep a stack from starting nor leave a started
 * one behind.
 */
export async function unpublished(
  databaseUrl: string,
  found: readonly FoundServer[],
  { open, close } = { open: createDb, close: closeDb },
): Promise<Discovery> {
  const unknown = { servers: found, needsOrg: false };
  if (found.length === 0) return unknown;
  try {
    const db = open(databaseUrl, { maxConnections: 1 });
    try {
      return await read(db, found);
    } finally {
      await close(db).catch(() => {});
    }
  } catch {
    return unknown;
  }
}

async function read(db: Db, found: readonly FoundServer[]): Promise<Discovery> {
  const published = await readPublished(db);
  const servers = found.flatMap((server) => {
    // A server without models is shown too, with the reason, until something of it is published.
    if (server.models.length === 0) return published.has(server) ? [] : [server];
    const models = server.models.filter((model) => published.nameOf(server, model) === undefined);
    return models.length > 0 ? [{ ...server, models }] : [];
  });
  return { servers, needsOrg: (await db.org.count()) === 0 };
}
