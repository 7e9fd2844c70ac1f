import type { ControlDeps, Tx } from '../deps.ts';

/** The name of an operator as the one who invited. No user has it: users are named by e-mail. */
export const OPERATOR_NAME = 'ctl';

/**
 * Those whose invitations into an organization are good now: operators, and its owners of today. An
 * e-mail never changes hands here, so it tells who invited.
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
