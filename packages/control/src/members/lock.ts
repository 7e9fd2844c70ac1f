import { type Access, type Actor, access } from '../access/access.ts';
import type { Action } from '../access/policy.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import type { Result } from '../result.ts';

/**
 * Makes changes to an organization's members wait for each other. Otherwise two owners could remove
 * each other.
 */
export const lockMembers = (tx: Tx, orgId: string): Promise<unknown> =>
  tx.$queryRaw`SELECT id FROM org WHERE id = ${orgId} FOR UPDATE`;

/**
 * Locks an organization's members, then checks whether the actor may do this there. While a change
 * waits for the lock, its actor may be removed or get another role, so checking beforehand is not
 * enough.
 */
export async function lockedAccess(
  deps: ControlDeps,
  tx: Tx,
  actor: Actor,
  orgId: string,
  action: Action,
): Promise<Result<Access>> {
  await lockMembers(tx, orgId);
  return access({ ...deps, db: tx }, actor, orgId, action);
}

/**
 * Takes the lock on the organization that an audit event needs, before the lock on a key or a
 * model. Whoever changes the organization holds the first and may then want the second.
 */
export const holdOrg = (tx: Tx, orgId: string): Promise<unknown> =>
  tx.$queryRaw`SELECT id FROM org WHERE id = ${orgId} FOR KEY SHARE`;

/**
 * Makes changes to a user's ways of signing in, sessions and page keys wait for each other. Take
 * this lock before those on organizations. It allows foreign keys to the row, so someone who has
 * locked an organization's members can still add this user.
 */
export const lockAccount = (tx: Tx, userId: string): Promise<unknown> =>
  tx.$queryRaw`SELECT id FROM "user" WHERE id = ${userId} FOR NO KEY UPDATE`;

/** The same by e-mail. Resolves to the account's id, if there is an account. */
export async function lockAccountOf(tx: Tx, email: string): Promise<string | undefined> {
  const [user] = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM "user" WHERE email = ${email} FOR NO KEY UPDATE`;
  return user?.id;
}
