import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import { type AuditEntry, audit } from '../access/audit.ts';
import type { Role } from '../access/policy.ts';
import { isPasswordEnough, SECOND_FACTOR } from '../access/second-factor.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { orgField } from '../fields.ts';
import { ok, parseInput, type Result, refuse, refuseInput } from '../result.ts';
import { memberInput } from './input.ts';
import { lockMembers } from './lock.ts';
import { emailField, findOrCreateUser, hasAccount, passwordField, secretOf } from './user.ts';
import { weakPassword } from './weak-password.ts';

export interface MemberView {
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  /** ISO 8601. */
  readonly since: string;
}

export interface ListedMember extends MemberView {
  /** Whether a password alone lets this member in. */
  readonly lacksTwoFactor: boolean;
}

export interface AddedMember extends MemberView {
  /**
   * Whether the e-mail already had an account. Then whoever knows its password has the role, too.
   */
  readonly existed: boolean;
  /** When the account was created, ISO 8601. */
  readonly accountSince: string;
  /** The generated password of a new account. It is shown only now. */
  readonly password?: string;
}

const addInput = memberInput.extend({ password: passwordField.optional() });
export type AddMemberInput = z.input<typeof addInput>;

/**
 * Gives someone a role in an organization. A new e-mail gets an account, with a generated password
 * if none is given. An existing account keeps its password. An open invitation of the e-mail ends,
 * so that nobody who is removed later comes back by it.
 */
export async function addMember(
  deps: ControlDeps,
  actor: Actor,
  input: AddMemberInput,
): Promise<Result<AddedMember>> {
  const parsed = parseInput(addInput, input);
  if (!parsed.ok) return parsed;
  const { org: ref, email, role, password } = parsed.value;
  const org = await access(deps, actor, ref, 'member.add');
  if (!org.ok) return org;
  const orgId = org.value.id;
  const weak = password === undefined ? null : await weakPassword(password, { email, org: org.value.name });
  if (weak) return refuseInput(weak);
  const known = password === undefined && (await hasAccount(deps.db, email));
  const secret = known ? null : await secretOf(password);
  return deps.db.$transaction(async (tx): Promise<Result<AddedMember>> => {
    await lockMembers(tx, orgId);
    const user = await findOrCreateUser(tx, deps.now(), email, secret);
    if (!user.ok) return user;
    const at = new Date(deps.now());
    const { id: userId, name, existed, createdAt, generatedPassword } = user.value;
    const { count } = await tx.member.createMany({
      data: [{ orgId, userId, role, createdAt: at }],
      skipDuplicates: true,
    });
    if (count === 0) return refuse('conflict', `${email} is already a member.`, 'email');
    const withdrawn = await withdrawInvitations(tx, orgId, { email });
    await audit(tx, actor, deps.now(), [
      { orgId, action: 'member.add', target: userId, details: { email, role } },
      ...withdrawn,
    ]);
    const member = { userId, email, name, role, since: at.toISOString() };
    const added = { ...member, existed, accountSince: createdAt.toISOString() };
    return ok(generatedPassword === undefined ? added : { ...added, password: generatedPassword });
  });
}

const listInput = z.object({ org: orgField });
export type OrgInput = z.input<typeof listInput>;

/** Lists owners, then members, then viewers, each sorted by e-mail. */
export async function listMembers(
  deps: ControlDeps,
  actor: Actor,
  input: OrgInput,
): Promise<Result<ListedMember[]>> {
  const parsed = parseInput(listInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'member.list');
  if (!org.ok) return org;
  const members = await deps.db.member.findMany({
    where: { orgId: org.value.id },
    include: { user: { select: { email: true, name: true, ...SECOND_FACTOR } } },
    orderBy: [{ role: 'asc' }, { user: { email: 'asc' } }],
  });
  return ok(
    members.map(({ userId, role, createdAt, user }) => ({
      userId,
      email: user.email,
      name: user.name,
      role,
      since: createdAt.toISOString(),
      lacksTwoFactor: isPasswordEnough(deps, user),
    })),
  );
}

export type SetMemberRoleInput = z.input<typeof memberInput>;

/**
 * Changes a member's role. The last owner stays owner. A demotion withdraws an owner's invitations.
 */
export async function setMemberRole(
  deps: ControlDeps,
  actor: Actor,
  input: SetMemberRoleInput,
): Promise<Result<MemberView>> {
  const parsed = parseInput(memberInput, input);
  if (!parsed.ok) return parsed;
  const { role } = parsed.value;
  return changeMember(
    deps,
    actor,
    { ...parsed.value, action: 'member.setRole', losesOwner: role !== 'owner', losesMember: false },
    async (tx, where) => {
      await tx.member.update({ where, data: { role } });
      return { role };
    },
  );
}

const removeInput = z.object({ org: orgField, email: emailField });
export type RemoveMemberInput = z.input<typeof removeInput>;

/**
 * Removes someone from an organization, and withdraws invitations by them and of them. The account
 * stays. The last owner cannot be removed.
 */
export async function removeMember(
  deps: ControlDeps,
  actor: Actor,
  input: RemoveMemberInput,
): Promise<Result<MemberView>> {
  const parsed = parseInput(removeInput, input);
  if (!parsed.ok) return parsed;
  return changeMember(
    deps,
    actor,
    { ...parsed.value, action: 'member.remove', losesOwner: true, losesMember: true },
    async (tx, where) => {
      await tx.member.delete({ where });
      return {};
    },
  );
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
  const { email } = actor;
  return changeMember(
    deps,
    actor,
    { ...parsed.value, email, action: 'member.leave', losesOwner: true, losesMember: true },
    async (tx, where) => {
      await tx.member.delete({ where });
      return {};
    },
  );
}

interface Change {
  readonly org?: string | undefined;
  readonly email: string;
  readonly action: 'member.setRole' | 'member.remove' | 'member.leave';
  /** Whether an owner would no longer be one afterwards. */
  readonly losesOwner: boolean;
  /** Whether the member would no longer be one afterwards. */
  readonly losesMember: boolean;
}

async function changeMember(
  deps: ControlDeps,
  actor: Actor,
  change: Change,
  apply: (tx: Tx, where: { orgId_userId: { orgId: string; userId: string } }) => Promise<{ role?: Role }>,
): Promise<Result<MemberView>> {
  const org = await access(deps, actor, change.org, change.action);
  if (!org.ok) return org;
  const orgId = org.value.id;
  return deps.db.$transaction(async (tx): Promise<Result<MemberView>> => {
    await lockMembers(tx, orgId);
    const { email } = change;
    const member = await tx.member.findFirst({ where: { orgId, user: { email } }, include: { user: true } });
    if (!member) return refuse('not_found', `${email} is not a member.`, 'email');
    if (change.losesOwner && member.role === 'owner') {
      const owners = await tx.member.count({ where: { orgId, role: 'owner' } });
      if (owners === 1)
        return refuse('conflict', `${email} is the only owner: an organization always keeps one.`, 'email');
    }
    const { userId, createdAt, user } = member;
    const { role = member.role } = await apply(tx, { orgId_userId: { orgId, userId } });
    const withdrawn = [
      ...(change.losesOwner ? await withdrawInvitations(tx, orgId, { invitedBy: email }) : []),
      ...(change.losesMember ? await withdrawInvitations(tx, orgId, { email }) : []),
    ];
    const from = change.action === 'member.setRole' ? { from: member.role } : {};
    await audit(tx, actor, deps.now(), [
      { orgId, action: change.action, target: userId, details: { email, role, ...from } },
      ...withdrawn,
    ]);
    return ok({ userId, email, name: user.name, role, since: createdAt.toISOString() });
  });
}

/** Deletes open invitations by someone or of someone. Returns audit entries. */
async function withdrawInvitations(
  tx: Tx,
  orgId: string,
  which: { readonly invitedBy: string } | { readonly email: string },
): Promise<AuditEntry[]> {
  const rows = await tx.invitation.findMany({ where: { orgId, ...which } });
  await tx.invitation.deleteMany({ where: { id: { in: rows.map(({ id }) => id) } } });
  return rows.map(({ id, email, role, invitedBy }) => ({
    orgId,
    action: 'member.withdraw',
    target: id,
    details: { email, role, invitedBy },
  }));
}
