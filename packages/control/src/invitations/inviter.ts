import type { ControlDeps, Tx } from '../deps.ts';

/** The inviter's name if an operator invited. No user has this name: users are named by e-mail. */
export const OPERATOR_NAME = 'ctl';

/**
 * Those whose invitations to an organization are valid now: operators, and its current owners. An
 * account's e-mail never changes, and deleting the account withdraws its invitations, so the e-mail
 * identifies the inviter.
 */
export async function whoMayInvite(
  db: ControlDeps['db'] | Tx,
  orgId: string,
): Promise<{ has(inviter: string): boolean }> {
  const owners = await db.member.findMany({
    where: { orgId, role: 'owner' },
    select: { user: { select: { email: true } } },
  });
  return new Set([OPERATOR_NAME, ...owners.map(({ user }) => user.email)]);
}
