import { z } from 'zod';
import { type Actor, operatorOnly } from '../access/access.ts';
import type { AuditAction } from '../access/audit.ts';
import { CREDENTIAL } from '../access/second-factor.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { lockUser } from './password.ts';
import { type NamedAccount, signOutEverywhere } from './sign-out.ts';
import { emailField } from './user.ts';

const accountInput = z.object({ email: emailField });
export type AccountInput = z.input<typeof accountInput>;

/**
 * Removes an account's second factor, its passkeys included, for someone who has lost it, and ends
 * all of its sessions.
 * From then on the password alone lets in. For operators only, because an account may belong to
 * several organizations.
 */
export const resetTwoFactor = (deps: ControlDeps, actor: Actor, input: AccountInput) =>
  reset(deps, actor, input, {
    action: 'member.resetTwoFactor',
    missing: 'has no second factor',
    async remove(tx, userId) {
      await tx.user.update({ where: { id: userId }, data: { twoFactorEnabled: false } });
      await tx.passkey.deleteMany({ where: { userId } });
      return tx.twoFactor.deleteMany({ where: { userId } });
    },
  });

/**
 * Removes an account's identity at the provider, and ends all of its sessions. The next identity
 * that comes with the account's e-mail takes its place. For operators only, as above.
 */
export const resetIdentity = (deps: ControlDeps, actor: Actor, input: AccountInput) =>
  reset(deps, actor, input, {
    action: 'member.resetIdentity',
    missing: 'has no identity at the provider',
    remove: (tx, userId) => tx.account.deleteMany({ where: { userId, providerId: { not: CREDENTIAL } } }),
  });

interface Reset {
  readonly action: AuditAction;
  /** What the account lacks if there is nothing to remove. */
  readonly missing: string;
  readonly remove: (tx: Tx, userId: string) => Promise<{ readonly count: number }>;
}

async function reset(
  deps: ControlDeps,
  actor: Actor,
  input: AccountInput,
  { action, missing, remove }: Reset,
): Promise<Result<NamedAccount>> {
  const allowed = operatorOnly(actor);
  if (!allowed.ok) return allowed;
  const parsed = parseInput(accountInput, input);
  if (!parsed.ok) return parsed;
  const { email } = parsed.value;
  return deps.db.$transaction(async (tx): Promise<Result<NamedAccount>> => {
    const userId = await lockUser(tx, email);
    if (userId === undefined) return refuse('not_found', `There is no account for ${email}.`, 'email');
    const { count } = await remove(tx, userId);
    if (count === 0) return refuse('conflict', `${email} ${missing}.`, 'email');
    await signOutEverywhere(tx, actor, deps.now(), { userId, email }, action);
    return ok({ userId, email });
  });
}
