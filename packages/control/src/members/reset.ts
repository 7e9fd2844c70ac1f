import { z } from 'zod';
import { type Actor, operatorOnly } from '../access/access.ts';
import type { AuditAction } from '../access/audit.ts';
import { CREDENTIAL } from '../access/second-factor.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { endRevokedPages } from '../keys/revoke-pages.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { lockAccountOf } from './lock.ts';
import { type NamedAccount, type SignedOut, signOutEverywhere } from './sign-out.ts';
import { emailField } from './user.ts';

const accountInput = z.object({ email: emailField });
export type AccountInput = z.input<typeof accountInput>;

/**
 * Removes an account's second factor, its passkeys included, for someone who has lost it, and ends
 * all of its sessions and page keys. From then on the password alone lets them in. For operators
 * only, because an account may belong to several organizations. `notInForce`: no limiter could be
 * reached to end a page key.
 */
export const resetTwoFactor = (deps: ControlDeps, actor: Actor, input: AccountInput) =>
  reset(deps, actor, input, {
    action: 'member.resetTwoFactor',
    missing: 'has no second factor',
    async remove(tx, userId) {
      await tx.user.update({ where: { id: userId }, data: { twoFactorEnabled: false } });
      const passkeys = await tx.passkey.deleteMany({ where: { userId } });
      const apps = await tx.twoFactor.deleteMany({ where: { userId } });
      return { count: passkeys.count + apps.count };
    },
  });

/**
 * Removes an account's identity at the provider, and ends all of its sessions and page keys. The
 * next identity that comes with the account's e-mail takes its place. For operators only, and
 * `notInForce`, as above.
 */
export const resetIdentity = (deps: ControlDeps, actor: Actor, input: AccountInput) =>
  reset(deps, actor, input, {
    action: 'member.resetIdentity',
    missing: 'has no identity at the provider',
    remove: (tx, userId) => tx.account.deleteMany({ where: { userId, providerId: { not: CREDENTIAL } } }),
  });

interface Reset {
  readonly action: AuditAction;
  /** What to say of the account if there is nothing to remove. */
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
  const done = await deps.db.$transaction(async (tx): Promise<Result<SignedOut>> => {
    const userId = await lockAccountOf(tx, email);
    if (userId === undefined) return refuse('not_found', `There is no account for ${email}.`, 'email');
    const { count } = await remove(tx, userId);
    if (count === 0) return refuse('conflict', `${email} ${missing}.`, 'email');
    return ok(await signOutEverywhere(tx, actor, deps.now(), { userId, email }, action));
  });
  if (!done.ok) return done;
  const { account, pageKeys } = done.value;
  return endRevokedPages(deps, actor, pageKeys, ok(account));
}
