import { z } from 'zod';
import type { Actor } from '../access/access.ts';
import { audit, auditInEach } from '../access/audit.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { withdrawInvitations } from '../invitations/withdraw.ts';
import { endRevokedPages, type RevokedPageKey, revokePageKeys } from '../keys/revoke-pages.ts';
import { lockAccountOf, lockMembers } from '../members/lock.ts';
import { endSteps, forgetAttempts } from '../members/sign-out.ts';
import { emailField } from '../members/user.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';

export interface DeletedAccountView {
  readonly email: string;
  /** The slugs of the organizations that the account belonged to. */
  readonly left: readonly string[];
}

const deleteInput = z.object({ email: emailField });
export type DeleteAccountInput = z.input<typeof deleteInput>;

/**
 * Deletes an account, with its sessions, its ways to sign in, its memberships, its page keys, and
 * invitations by it and of it. Users delete their own and give its e-mail to confirm. Other keys
 * stay: they belong to organizations. An account that is the only owner of an organization cannot
 * be deleted. `notInForce`: it is deleted, but no limiter could be reached to end a page key.
 */
export async function deleteAccount(
  deps: ControlDeps,
  actor: Actor,
  input: DeleteAccountInput,
): Promise<Result<DeletedAccountView>> {
  const parsed = parseInput(deleteInput, input);
  // Whatever a user types, say what to type, not what form an e-mail has.
  if (actor.kind === 'user' && !(parsed.ok && parsed.value.email === actor.email))
    return refuse('invalid_input', `Type your e-mail to confirm: ${actor.email}`, 'email');
  if (!parsed.ok) return parsed;
  const { email } = parsed.value;
  const deleted = await deps.db.$transaction(async (tx): Promise<Result<Deleted>> => {
    const userId = await lockAccountOf(tx, email);
    if (userId === undefined) return refuse('not_found', `There is no account for ${email}.`, 'email');
    const orgs = await lockOrgsOf(tx, userId, email);
    const onlyOwner = orgs.filter(({ others, role }) => role === 'owner' && others === 0);
    if (onlyOwner.length > 0) {
      const names = onlyOwner.map(({ name }) => name).join(', ');
      return refuse(
        'conflict',
        `${email} is the only owner of ${names}: make someone else an owner there, or delete the organization first.`,
        'email',
      );
    }
    const pageKeys = await endAccess(tx, actor, deps.now(), { userId, email, orgs });
    await deleteTraces(tx, userId, email);
    return ok({ pageKeys, left: orgs.filter(isMember).map(({ slug }) => slug) });
  });
  if (!deleted.ok) return deleted;
  const { pageKeys, left } = deleted.value;
  return endRevokedPages(deps, actor, pageKeys, ok({ email, left }));
}

interface Deleted {
  readonly left: readonly string[];
  readonly pageKeys: readonly RevokedPageKey[];
}

interface Concerned {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  /** Null: the account is no member, but left something there, such as an invitation. */
  readonly role: string | null;
  /** How many other owners the organization has. */
  readonly others: number;
}

const isMember = ({ role }: Concerned): boolean => role !== null;

/**
 * Locks the members of the organizations that the user belongs to, or that have an invitation or a
 * page key of the user, in the order of their ids.
 */
async function lockOrgsOf(tx: Tx, userId: string, email: string): Promise<Concerned[]> {
  const found = await tx.$queryRaw<{ id: string }[]>`
    SELECT org_id AS id FROM member WHERE user_id = ${userId}
    UNION SELECT org_id FROM invitation WHERE email = ${email} OR invited_by = ${email}
    UNION SELECT org_id FROM api_key WHERE page_user_id = ${userId} ORDER BY id`;
  const ids = found.map(({ id }) => id);
  for (const id of ids) await lockMembers(tx, id);
  return tx.$queryRaw<Concerned[]>`
    SELECT org.id, org.slug, org.name, own.role::text AS role,
      (SELECT count(*)::int FROM member WHERE org_id = org.id AND role = 'owner' AND user_id <> ${userId}) AS others
    FROM org LEFT JOIN member own ON org.id = own.org_id AND own.user_id = ${userId}
    WHERE org.id = ANY(${ids}::text[]) ORDER BY org.id`;
}

interface Account {
  readonly userId: string;
  readonly email: string;
  readonly orgs: readonly Concerned[];
}

/** Ends the account's invitations and page keys, and records what ends in each organization. */
async function endAccess(
  tx: Tx,
  actor: Actor,
  atMs: number,
  { userId, email, orgs }: Account,
): Promise<RevokedPageKey[]> {
  const memberOf = orgs.filter(isMember).map(({ id }) => id);
  const event = { action: 'account.delete', target: userId, details: { email } } as const;
  await auditInEach(tx, actor, atMs, memberOf, event);
  const orgIds = orgs.map(({ id }) => id);
  for (const entry of await withdrawInvitations(tx, atMs, { orgIds, of: email, by: email })) {
    if (memberOf.includes(entry.orgId)) {
      await audit(tx, actor, atMs, [entry]);
      continue;
    }
    // Only owners see who was invited. So where the person was only invited, no actor is named.
    const details = { ...entry.details, accountDeleted: true };
    await audit(tx, actor.kind === 'user' ? null : actor, atMs, [{ ...entry, details }]);
  }
  return revokePageKeys(tx, actor, atMs, { userIds: [userId], orgIds });
}

/** Sessions, ways to sign in and memberships go with the user's row. */
async function deleteTraces(tx: Tx, userId: string, email: string): Promise<void> {
  await forgetAttempts(tx, email);
  await endSteps(tx, userId);
  await tx.user.delete({ where: { id: userId } });
}
