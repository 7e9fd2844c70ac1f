import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Actor } from '../access/access.ts';
import { auditInEach } from '../access/audit.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { lockMembers } from '../members/lock.ts';
import { endSteps } from '../members/sign-out.ts';
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
 * Deletes an account, with its sessions, its ways to sign in and its memberships. Users delete
 * their own and give its e-mail to confirm. Keys stay: they belong to organizations. The only owner
 * of an organization cannot go.
 */
export async function deleteAccount(
  deps: ControlDeps,
  actor: Actor,
  input: DeleteAccountInput,
): Promise<Result<DeletedAccountView>> {
  const parsed = parseInput(deleteInput, input);
  // Whatever a user types instead, an e-mail's form is not what is wrong with it.
  if (actor.kind === 'user' && !(parsed.ok && parsed.value.email === actor.email))
    return refuse('invalid_input', `Type your e-mail to confirm: ${actor.email}`, 'email');
  if (!parsed.ok) return parsed;
  const { email } = parsed.value;
  return deps.db.$transaction(async (tx): Promise<Result<DeletedAccountView>> => {
    const user = await tx.user.findUnique({ where: { email }, select: { id: true } });
    if (!user) return refuse('not_found', `There is no account for ${email}.`, 'email');
    const orgs = await lockOrgsOf(tx, user.id);
    const onlyOwner = orgs.filter(({ others, role }) => role === 'owner' && others === 0);
    if (onlyOwner.length > 0) {
      const names = onlyOwner.map(({ name }) => name).join(', ');
      return refuse(
        'conflict',
        `${email} is the only owner of ${names}: make someone else an owner there, or delete the organization first.`,
        'email',
      );
    }
    const event = { action: 'account.delete', target: user.id, details: { email } } as const;
    const orgIds = orgs.map(({ id }) => id);
    await auditInEach(tx, actor, deps.now(), orgIds, event);
    await deleteTraces(tx, user.id, email);
    return ok({ email, left: orgs.map(({ slug }) => slug) });
  });
}

interface OwnOrg {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly role: string;
  /** How many other owners it has. */
  readonly others: number;
}

/** Locks the members of the user's organizations, in the order of their ids. */
async function lockOrgsOf(tx: Tx, userId: string): Promise<OwnOrg[]> {
  const members = await tx.member.findMany({ where: { userId }, orderBy: { orgId: 'asc' } });
  for (const { orgId } of members) await lockMembers(tx, orgId);
  return tx.$queryRaw<OwnOrg[]>`
    SELECT org.id, org.slug, org.name, own.role::text AS role,
      (SELECT count(*)::int FROM member WHERE org_id = org.id AND role = 'owner' AND user_id <> ${userId}) AS others
    FROM member own JOIN org ON org.id = own.org_id WHERE own.user_id = ${userId} ORDER BY org.id`;
}

/** Sessions, ways to sign in and memberships go with the user's row. */
async function deleteTraces(tx: Tx, userId: string, email: string): Promise<void> {
  await tx.invitation.deleteMany({ where: { OR: [{ email }, { invitedBy: email }] } });
  // The console counts attempts by the hash of the e-mail, under a name for each kind.
  const hash = createHash('sha256').update(email).digest('hex');
  await tx.signInAttempt.deleteMany({ where: { key: { contains: hash } } });
  await endSteps(tx, userId);
  await tx.user.delete({ where: { id: userId } });
}
