import type { Tx } from '../deps.ts';

/**
 * Makes changes of an organization's members wait for each other. Otherwise two owners could remove
 * each other.
 */
export const lockMembers = (tx: Tx, orgId: string): Promise<unknown> =>
  tx.$queryRaw`SELECT id FROM org WHERE id = ${orgId} FOR UPDATE`;
