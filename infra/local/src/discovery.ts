import { type FoundServer, readPublished } from '@tidegate/control';
import { closeDb, createDb, type Db } from '@tidegate/db';

/** What a start says of the model servers of this machine. */
export interface Discovery {
  readonly servers: readonly FoundServer[];
  /** True: there is no organization yet to publish for. */
  readonly needsOrg: boolean;
}

/**
 * Of what was found on this machine, what is not published yet, in whichever organization. What cannot be told counts as not
 * published. Never rejects: nothing here may keep a stack from starting, or leave one behind that has.
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
    // One without models is told of too, with the reason, until something of it is published.
    if (server.models.length === 0) return published.has(server) ? [] : [server];
    const models = server.models.filter((model) => published.nameOf(server, model) === undefined);
    return models.length > 0 ? [{ ...server, models }] : [];
  });
  return { servers, needsOrg: (await db.org.count()) === 0 };
}
