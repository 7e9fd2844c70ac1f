import type { Actor } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { Tx } from '../deps.ts';

export interface NamedAccount {
  readonly userId: string;
  readonly email: string;
}

/**
 * Ends all sessions of an account that was changed. The change is in the trail of each of its
 * organizations.
 */
export async function signOutEverywhere(
  tx: Tx,
  actor: Actor,
  atMs: number,
  { userId, email }: NamedAccount,
  action: string,
): Promise<void> {
  await tx.session.deleteMany({ where: { userId } });
  const members = await tx.member.findMany({ where: { userId }, select: { orgId: true } });
  const event = { action, target: userId, details: { email } };
  await audit(
    tx,
    actor,
    atMs,
    members.map(({ orgId }) => ({ orgId, ...event })),
  );
}
