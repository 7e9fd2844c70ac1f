import type { Tx } from '../deps.ts';

/**
 * Makes changes of an organization's members wait for each other. Otherwise two owners could remove
 * each other.
 */
export const lockMembers = (tx: Tx, orgId: string): Promise<unknown> =>
  tx.$queryRaw`SELECT id FROM org WHERE id = ${orgId} FOR UPDATE`;

/**
 * Makes changes of how a person is signed in wait for each other, and for a page key that is being
 * made. Take it before the locks of organizations. It allows foreign keys to the row, so someone
 * who has locked an organization's members can still add this user.
 */
export const lockAccount = (tx: Tx, userId: string): Promise<unknown> =>
  tx.$queryRaw`SELECT id FROM "user" WHERE id = ${userId} FOR NO KEY UPDATE`;

/** Does so by e-mail. Resolves to the account's id, if there is one. */
export async function lockAccountOf(tx: Tx, email: string): Promise<string | undefined> {
  const [user] = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM "user" WHERE email = ${email} FOR NO KEY UPDATE`;
  return user?.id;
}
