import { createHash } from 'node:crypto';
import type { Actor } from '../access/access.ts';
import { type AuditAction, auditInEach } from '../access/audit.ts';
import type { Tx } from '../deps.ts';
import { type RevokedPageKey, revokePageKeys } from '../keys/revoke-pages.ts';

export interface NamedAccount {
  readonly userId: string;
  readonly email: string;
}

/** Ends unfinished steps of an account: a second step of a sign-in, or a new passkey. */
export async function endSteps(tx: Tx, userId: string): Promise<void> {
  await tx.$executeRaw`DELETE FROM verification WHERE strpos(value, ${userId}) > 0`;
}

/** Forgets the counted attempts to sign in with an e-mail. */
export async function forgetAttempts(tx: Tx, email: string): Promise<void> {
  // The console counts attempts by the hash of the e-mail, under a name for each kind.
  const hash = createHash('sha256').update(email).digest('hex');
  await tx.signInAttempt.deleteMany({ where: { key: { contains: hash } } });
}

/** An account that was changed, and its page keys, for `endRevokedPages`. */
export interface SignedOut {
  readonly account: NamedAccount;
  readonly pageKeys: readonly RevokedPageKey[];
}

/**
 * Holds the organizations of which an account is a member or has a page key, in the order of their
 * ids. So do all changes that concern several organizations, and none of two waits for the other.
 */
const holdOrgsOf = (tx: Tx, userId: string): Promise<unknown> =>
  tx.$queryRaw`
    SELECT id FROM org
    WHERE id IN (SELECT org_id FROM member WHERE user_id = ${userId}
      UNION SELECT org_id FROM api_key WHERE page_user_id = ${userId})
    ORDER BY id FOR KEY SHARE`;

/**
 * Ends all sessions of an account that was changed, ends sign-ins that have begun, and revokes its
 * page keys. Its user can sign in again right away, whatever was tried before. The caller has
 * locked the account. The change is in the trail of each of its organizations.
 */
export async function signOutEverywhere(
  tx: Tx,
  actor: Actor,
  atMs: number,
  account: NamedAccount,
  action: AuditAction,
): Promise<SignedOut> {
  const { userId, email } = account;
  await holdOrgsOf(tx, userId);
  await tx.session.deleteMany({ where: { userId } });
  await endSteps(tx, userId);
  await forgetAttempts(tx, email);
  const pageKeys = await revokePageKeys(tx, actor, atMs, { userIds: [userId] });
  const members = await tx.member.findMany({
    where: { userId },
    select: { orgId: true },
    orderBy: { orgId: 'asc' },
  });
  const event = { action, target: userId, details: { email } };
  const orgIds = members.map(({ orgId }) => orgId);
  await auditInEach(tx, actor, atMs, orgIds, event);
  return { account, pageKeys };
}
