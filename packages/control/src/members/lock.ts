import type { Tx } from '../deps.ts';

/** Changes of an organization's members happen one after the other: two owners cannot each remove the other. */
export const lockMembers = (tx: Tx, orgId: string): Promise<unknown> =>
  tx.$queryRaw`SELECT id FROM org WHERE id = ${orgId} FOR UPDATE`;
