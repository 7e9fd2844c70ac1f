import type { FoundServer } from '@tidegate/control';
import { closeDb, createDb } from '@tidegate/db';

/**
 * Of what was found on this machine, what is not published yet, in whichever organization. What cannot be told counts as not
 * published: nothing here may keep a stack from starting.
 */
export async function unpublished(
  databaseUrl: string,
  found: readonly FoundServer[],
): Promise<readonly FoundServer[]> {
  if (found.length === 0) return found;
  const db = createDb(databaseUrl, { maxConnections: 1 });
  try {
    const rows = await db.model.findMany({ where: { deletedAt: null, driver: 'external' } });
    const known = new Set(
      rows.flatMap(({ settings, upstreamModel, name }) =>
        (settings as { urls: string[] }).urls.map((url) => `${url} ${upstreamModel ?? name}`),
      ),
    );
    return found
      .map((server) => ({
        ...server,
        models: server.models.filter(({ upstreamModel }) => !known.has(`${server.url} ${upstreamModel}`)),
      }))
      .filter(({ models }) => models.length > 0);
  } catch {
    return found;
  } finally {
    await closeDb(db);
  }
}
