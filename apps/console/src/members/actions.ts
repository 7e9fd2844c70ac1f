'use server';

import type { InvitationView, MemberView, Result, Role } from '@tidegate/control';
import { services } from '../server/services.ts';
import { asUser } from '../session/current.ts';

/** Returns the invitation and its link. The link is shown only once. */
export const invite = async (
  org: string,
  email: string,
  role: Role,
): Promise<Result<{ readonly email: string; readonly link: string }>> =>
  asUser(async (actor) => {
    const { control, consoleUrl } = services();
    const created = await control.createInvitation(actor, { org, email, role });
    if (!created.ok) return created;
    const { token, email: invited } = created.value;
    return { ok: true, value: { email: invited, link: `${consoleUrl}/invite/${token}` } };
  });

export const withdrawInvitation = async (org: string, id: string): Promise<Result<InvitationView>> =>
  asUser((actor) => services().control.withdrawInvitation(actor, { org, id }));

export const requireTwoFactor = async (
  org: string,
  required: boolean,
): Promise<Result<{ readonly required: boolean }>> =>
  asUser((actor) => services().control.requireTwoFactor(actor, { org, required }));

export const setRole = async (org: string, email: string, role: Role): Promise<Result<MemberView>> =>
  asUser((actor) => services().control.setMemberRole(actor, { org, email, role }));

export const removeMember = async (org: string, email: string): Promise<Result<MemberView>> =>
  asUser((actor) => services().control.removeMember(actor, { org, email }));

export const leave = async (org: string): Promise<Result<MemberView>> =>
  asUser((actor) => services().control.leaveOrg(actor, { org }));
