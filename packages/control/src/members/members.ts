import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { Role } from '../access/policy.ts';
import { isPasswordEnough, SECOND_FACTOR } from '../access/second-factor.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField } from '../fields.ts';
import { withdrawInvitations } from '../invitations/withdraw.ts';
import { ok, parseInput, type Result, refuse, refuseInput } from '../result.ts';
import { memberInput } from './input.ts';
import { lockAccountOf, lockedAccess } from './lock.ts';
import { findOrCreateUser, hasAccount, hashedPasswordOf, passwordField } from './user.ts';
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
   * Whether the e-mail already had an account. If so, whoever knows its password now has the role.
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
 * if none is given. An existing account keeps its password. An open invitation for the e-mail ends,
 * so that a member who is removed later cannot come back with it.
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
  const orgs = [org.value.name];
  const weak = password === undefined ? null : await weakPassword(password, { email, orgs });
  if (weak) return refuseInput(weak);
  const known = password === undefined && (await hasAccount(deps.db, email));
  const secret = known ? null : await hashedPasswordOf(deps, password);
  return deps.db.$transaction(async (tx): Promise<Result<AddedMember>> => {
    // Whoever deletes the account first locks it and then looks for its organizations.
    await lockAccountOf(tx, email);
    const still = await lockedAccess(deps, tx, actor, orgId, 'member.add');
    if (!still.ok) return still;
    const user = await findOrCreateUser(tx, deps.now(), email, secret);
    if (!user.ok) return user;
    const at = new Date(deps.now());
    const { id: userId, name, existed, createdAt, generatedPassword } = user.value;
    const { count } = await tx.member.createMany({
      data: [{ orgId, userId, role, createdAt: at }],
      skipDuplicates: true,
    });
    if (count === 0) return refuse('conflict', `${email} is already a member.`, 'email');
    const withdrawn = await withdrawInvitations(tx, at.getTime(), { orgIds: [orgId], of: email });
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
