import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { Role } from '../access/policy.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField } from '../fields.ts';
import { withdrawInvitations } from '../invitations/withdraw.ts';
import { endRevokedPages, type RevokedPageKey, revokePageKeys } from '../keys/revoke-pages.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { memberInput } from './input.ts';
import { lockedAccess } from './lock.ts';
import type { MemberView } from './members.ts';
import { emailField } from './user.ts';

export type SetMemberRoleInput = z.input<typeof memberInput>;

/**
 * Changes a member's role. The last owner stays an owner. A demotion withdraws an owner's
 * invitations and ends their page key. `notInForce`: no limiter could be reached to end the key.
 */
export async function setMemberRole(
  deps: ControlDeps,
  actor: Actor,
  input: SetMemberRoleInput,
): Promise<Result<MemberView>> {
  const parsed = parseInput(memberInput, input);
  if (!parsed.ok) return parsed;
  return changeMember(deps, actor, { ...parsed.value, action: 'member.setRole' });
}

const removeInput = z.object({ org: orgField, email: emailField });
export type RemoveMemberInput = z.input<typeof removeInput>;

/**
 * Removes someone from an organization, withdraws invitations by them and for them, and ends their
 * page key. The account stays. The last owner cannot be removed. `notInForce`: as above.
 */
export async function removeMember(
  deps: ControlDeps,
  actor: Actor,
  input: RemoveMemberInput,
): Promise<Result<MemberView>> {
  const parsed = parseInput(removeInput, input);
  if (!parsed.ok) return parsed;
  return changeMember(deps, actor, { ...parsed.value, action: 'member.remove' });
}

const leaveInput = z.object({ org: orgField });
export type LeaveOrgInput = z.input<typeof leaveInput>;

/** Takes the actor out of an organization, like `removeMember`. The last owner cannot leave. */
export async function leaveOrg(
  deps: ControlDeps,
  actor: Actor,
  input: LeaveOrgInput,
): Promise<Result<MemberView>> {
  const parsed = parseInput(leaveInput, input);
  if (!parsed.ok) return parsed;
  if (actor.kind === 'operator') return refuse('forbidden', 'Operators belong to no organization.');
  return changeMember(deps, actor, { ...parsed.value, email: actor.email, action: 'member.leave' });
}

interface Change {
  readonly org?: string | undefined;
  readonly email: string;
  readonly action: 'member.setRole' | 'member.remove' | 'member.leave';
  /** The new role. Absent: the membership ends. */
  readonly role?: Role;
}

interface Changed {
  readonly member: MemberView;
  readonly pageKeys: readonly RevokedPageKey[];
}

async function changeMember(
  deps: ControlDeps,
  actor: Actor,
  { org: ref, email, action, role: newRole }: Change,
): Promise<Result<MemberView>> {
  const org = await access(deps, actor, ref, action);
  if (!org.ok) return org;
  const orgId = org.value.id;
  const endsAsOwner = newRole === 'owner';
  const changed = await deps.db.$transaction(async (tx): Promise<Result<Changed>> => {
    const still = await lockedAccess(deps, tx, actor, orgId, action);
    if (!still.ok) return still;
    const member = await tx.member.findFirst({ where: { orgId, user: { email } }, include: { user: true } });
    if (!member) return refuse('not_found', `${email} is not a member.`, 'email');
    if (!endsAsOwner && member.role === 'owner') {
      const owners = await tx.member.count({ where: { orgId, role: 'owner' } });
      if (owners === 1)
        return refuse('conflict', `${email} is the only owner: an organization always keeps one.`, 'email');
    }
    const { userId, createdAt, user } = member;
    const where = { orgId_userId: { orgId, userId } };
    if (newRole === undefined) await tx.member.delete({ where });
    else await tx.member.update({ where, data: { role: newRole } });
    const role = newRole ?? member.role;
    const atMs = deps.now();
    const withdrawn = await withdrawInvitations(tx, atMs, {
      orgIds: [orgId],
      of: newRole === undefined ? email : undefined,
      by: endsAsOwner ? undefined : email,
    });
    const from = newRole === undefined ? {} : { from: member.role };
    await audit(tx, actor, atMs, [
      { orgId, action, target: userId, details: { email, role, ...from } },
      ...withdrawn,
    ]);
    const pageKeys = endsAsOwner
      ? []
      : await revokePageKeys(tx, actor, atMs, { userIds: [userId], orgIds: [orgId] });
    const now = { userId, email, name: user.name, role, since: createdAt.toISOString() };
    return ok({ member: now, pageKeys });
  });
  if (!changed.ok) return changed;
  const { member, pageKeys } = changed.value;
  return endRevokedPages(deps, actor, pageKeys, ok(member));
}
