import type { Db } from '@tidegate/db';
import type { FoundModel, FoundServer } from './discover.ts';

/** Where a model is answered from: a server's URL, and what that server calls the model. */
const upstreamOf = (url: string, upstreamModel: string) => `${url} ${upstreamModel}`;

/** What is published from servers at URLs, whatever it is called there. */
export interface Published {
  /** The name that a model is published under; undefined: it is not. */
  nameOf(server: FoundServer, model: FoundModel): string | undefined;
  /** Whether anything is published from a server. */
  has(server: FoundServer): boolean;
}

/** Of one organization, or of all. */
export async function readPublished(db: Db, orgId?: string): Promise<Published> {
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
