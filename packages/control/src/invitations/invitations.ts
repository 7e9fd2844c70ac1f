import { randomBase62 } from '@tidegate/contracts';
import type { Invitation } from '@tidegate/db';
import { DAY_MS } from '@tidegate/limits';
import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { Role } from '../access/policy.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField, reference } from '../fields.ts';
import { memberInput } from '../members/input.ts';
import { lockedAccess } from '../members/lock.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { OPERATOR_NAME, whoMayInvite } from './inviter.ts';
import { hashOfToken, newInvitationToken } from './token.ts';
import { withdrawInvitations } from './withdraw.ts';

const VALID_MS = 7 * DAY_MS;
/** The most open invitations that an organization may have. */
const MAX_OPEN = 100;

export interface InvitationView {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string;
  /** ISO 8601. */
  readonly expiresAt: string;
}

export interface CreatedInvitation extends InvitationView {
  /** The secret part of the link. It is shown only now and stored nowhere. */
  readonly token: string;
}

const view = ({ id, email, role, invitedBy, expiresAt }: Invitation): InvitationView => ({
  id,
  email,
  role,
  invitedBy,
  expiresAt: expiresAt.toISOString(),
});

export type CreateInvitationInput = z.input<typeof memberInput>;

/**
 * Invites an e-mail with a link that works once, within 7 days. Inviting the same e-mail again
 * replaces the invitation, and the first link stops working.
 */
export async function createInvitation(
  deps: ControlDeps,
  actor: Actor,
  input: CreateInvitationInput,
): Promise<Result<CreatedInvitation>> {
  const parsed = parseInput(memberInput, input);
  if (!parsed.ok) return parsed;
  const { org: ref, email, role } = parsed.value;
  const org = await access(deps, actor, ref, 'member.invite');
  if (!org.ok) return org;
  const orgId = org.value.id;
  return deps.db.$transaction(async (tx): Promise<Result<CreatedInvitation>> => {
    const still = await lockedAccess(deps, tx, actor, orgId, 'member.invite');
    if (!still.ok) return still;
    if (await tx.member.findFirst({ where: { orgId, user: { email } } }))
      return refuse('conflict', `${email} is already a member.`, 'email');
    const at = new Date(deps.now());
    const withdrawn = await withdrawInvitations(tx, at.getTime(), { orgIds: [orgId], of: email });
    await tx.invitation.deleteMany({ where: { orgId, expiresAt: { lte: at } } });
    if ((await tx.invitation.count({ where: { orgId } })) >= MAX_OPEN)
      return refuse('limit_reached', `There are ${MAX_OPEN} open invitations: withdraw one first.`);
    const token = newInvitationToken();
    const row = await tx.invitation.create({
      data: {
        id: `inv_${randomBase62(16)}`,
        orgId,
        email,
        role,
        tokenHash: hashOfToken(token),
        invitedBy: actor.kind === 'operator' ? OPERATOR_NAME : actor.email,
        createdAt: at,
        expiresAt: new Date(at.getTime() + VALID_MS),
      },
    });
    await audit(tx, actor, at.getTime(), [
      ...withdrawn,
      { orgId, action: 'member.invite', target: row.id, details: { email, role } },
    ]);
    return ok({ ...view(row), token });
  });
}

const listInput = z.object({ org: orgField });
export type ListInvitationsInput = z.input<typeof listInput>;

/** Lists the invitations that can still be accepted, sorted by e-mail, without their tokens. */
export async function listInvitations(
  deps: ControlDeps,
  actor: Actor,
  input: ListInvitationsInput,
): Promise<Result<InvitationView[]>> {
  const parsed = parseInput(listInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'member.invite');
  if (!org.ok) return org;
  const orgId = org.value.id;
  const [rows, inviters] = await Promise.all([
    deps.db.invitation.findMany({
      where: { orgId, expiresAt: { gt: new Date(deps.now()) } },
      orderBy: { email: 'asc' },
    }),
    whoMayInvite(deps.db, orgId),
  ]);
  return ok(rows.filter(({ invitedBy }) => inviters.has(invitedBy)).map(view));
}

const withdrawInput = z.object({ org: orgField, id: reference('Invitation id') });
export type WithdrawInvitationInput = z.input<typeof withdrawInput>;

/** Withdraws an invitation. Its link stops working. */
export async function withdrawInvitation(
  deps: ControlDeps,
  actor: Actor,
  input: WithdrawInvitationInput,
): Promise<Result<InvitationView>> {
  const parsed = parseInput(withdrawInput, input);
  if (!parsed.ok) return parsed;
  const { id } = parsed.value;
  const org = await access(deps, actor, parsed.value.org, 'member.invite');
  if (!org.ok) return org;
  const orgId = org.value.id;
  return deps.db.$transaction(async (tx): Promise<Result<InvitationView>> => {
    const still = await lockedAccess(deps, tx, actor, orgId, 'member.invite');
    if (!still.ok) return still;
    const row = await tx.invitation.findFirst({ where: { id, orgId } });
    if (!row) return refuse('not_found', 'This invitation no longer exists.', 'id');
    await tx.invitation.delete({ where: { id } });
    const details = { email: row.email, role: row.role };
    await audit(tx, actor, deps.now(), [{ orgId, action: 'member.withdraw', target: id, details }]);
    return ok(view(row));
  });
}
