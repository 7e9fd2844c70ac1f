import { z } from 'zod';
import { type Actor, operatorOnly } from '../access/access.ts';
import { CREDENTIAL } from '../access/second-factor.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { ok, parseInput, type Result, refuse, refuseInput } from '../result.ts';
import { type NamedAccount, signOutEverywhere } from './sign-out.ts';
import { createCredential, emailField, passwordField, secretOf } from './user.ts';
import { weakPassword } from './weak-password.ts';

/** An account with a new password. */
export interface AccountView extends NamedAccount {
  /** The generated password, if none was given. It is shown only now. */
  readonly password?: string;
}

const passwordInput = z.object({ email: emailField, password: passwordField.optional() });
export type SetPasswordInput = z.input<typeof passwordInput>;

/**
 * Sets an account's password, generated if none is given, and ends all of its sessions. An account
 * that only used the identity provider can then also sign in with the password. For operators only,
 * because an account may belong to several organizations.
 */
export async function setPassword(
  deps: ControlDeps,
  actor: Actor,
  input: SetPasswordInput,
): Promise<Result<AccountView>> {
  const allowed = operatorOnly(actor);
  if (!allowed.ok) return allowed;
  const parsed = parseInput(passwordInput, input);
  if (!parsed.ok) return parsed;
  const { email, password } = parsed.value;
  const weak = password === undefined ? null : await weakPassword(password, { email });
  if (weak) return refuseInput(weak);
  const { hash, generated } = await secretOf(password);
  return deps.db.$transaction(async (tx): Promise<Result<AccountView>> => {
    const userId = await lockUser(tx, email);
    if (userId === undefined) return refuse('not_found', `There is no account for ${email}.`, 'email');
    const at = new Date(deps.now());
    const { count } = await tx.account.updateMany({
      where: { userId, providerId: CREDENTIAL },
      data: { password: hash, updatedAt: at },
    });
    if (count === 0) await createCredential(tx, at, userId, hash);
    await signOutEverywhere(tx, actor, deps.now(), { userId, email }, 'member.setPassword');
    return ok(generated === undefined ? { userId, email } : { userId, email, password: generated });
  });
}

/**
 * Locks a user's row, so that two callers cannot both create its first password. The lock mode
 * allows foreign keys to the row, so someone who has locked an organization's members can still add
 * this user.
 */
export async function lockUser(tx: Tx, email: string): Promise<string | undefined> {
  const [user] = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM "user" WHERE email = ${email} FOR NO KEY UPDATE`;
  return user?.id;
}
