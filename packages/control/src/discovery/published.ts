import type { Db } from '@tidegate/db';
import type { FoundModel, FoundServer } from './discover.ts';

/** Identifies a model by its server's URL and its name there. */
const upstreamOf = (url: string, upstreamModel: string) => `${url} ${upstreamModel}`;

/** The published models that are at URLs. */
export interface PublishedModels {
  /** The name that a model is published under. Undefined: it is not published. */
  nameOf(server: FoundServer, model: FoundModel): string | undefined;
  /** Whether anything is published from a server. */
  has(server: FoundServer): boolean;
}

/** Reads the published models of one organization, or of all. */
export async function readPublished(db: Db, orgId?: string): Promise<PublishedModels> {
  const rows = await db.model.findMany({
    where: { deletedAt: null, driver: 'external', ...(orgId === undefined ? {} : { orgId }) },
    select: { settings: true, upstreamModel: true, name: true },
  });
  const names = new Map<string, string>();
  const urls = new Set<string>();
  for (const { settings, upstreamModel, name } of rows)
    for (const url of (settings as { urls: string[] }).urls) {
      urls.add(url);
      names.set(upstreamOf(url, upstreamModel ?? name), name);
    }
  return {
    nameOf: ({ url }, model) => names.get(upstreamOf(url, model.upstreamModel)),
    has: ({ url }) => urls.has(url),
  };
}
