import { z } from 'zod';
import { type Actor, operatorOnly } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { ControlDeps } from '../deps.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { lockUser } from './password.ts';
import { emailField } from './user.ts';

const resetInput = z.object({ email: emailField });
export type ResetTwoFactorInput = z.input<typeof resetInput>;

/**
 * Removes an account's second factor, for someone who has lost it, and ends all of its sessions.
 * From then on the password alone lets in. For operators only, because an account may belong to
 * several organizations.
 */
export async function resetTwoFactor(
  deps: ControlDeps,
  actor: Actor,
  input: ResetTwoFactorInput,
): Promise<Result<{ readonly userId: string; readonly email: string }>> {
  const allowed = operatorOnly(actor);
  if (!allowed.ok) return allowed;
  const parsed = parseInput(resetInput, input);
  if (!parsed.ok) return parsed;
  const { email } = parsed.value;
  return deps.db.$transaction(async (tx): Promise<Result<{ userId: string; email: string }>> => {
    const userId = await lockUser(tx, email);
    if (userId === undefined) return refuse('not_found', `There is no account for ${email}.`, 'email');
    const { count } = await tx.twoFactor.deleteMany({ where: { userId } });
    if (count === 0) return refuse('conflict', `${email} has no second factor.`, 'email');
    await tx.user.update({ where: { id: userId }, data: { twoFactorEnabled: false } });
    await tx.session.deleteMany({ where: { userId } });
    const members = await tx.member.findMany({ where: { userId }, select: { orgId: true } });
    const event = { action: 'member.resetTwoFactor', target: userId, details: { email } };
    await audit(
      tx,
      actor,
      deps.now(),
      members.map(({ orgId }) => ({ orgId, ...event })),
    );
    return ok({ userId, email });
  });
}
