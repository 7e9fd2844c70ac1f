import { z } from 'zod';
import { type Actor, operatorOnly } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { CREDENTIAL, createCredential, emailField, passwordField, secretOf } from './user.ts';

/** An account with a new password. */
export interface AccountView {
  readonly userId: string;
  readonly email: string;
  /** Only when it was made up: shown this once. */
  readonly password?: string;
}

const passwordInput = z.object({ email: emailField, password: passwordField.optional() });
export type SetPasswordInput = z.input<typeof passwordInput>;

/**
 * Replaces the password of an account, made up when none is given, and ends all of its sessions. One that came in through
 * the identity provider only has a password from then on. Operators only: an account may belong to several organizations.
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
  const { hash, generated } = await secretOf(password);
  return deps.db.$transaction(async (tx): Promise<Result<AccountView>> => {
    const userId = await lockUser(tx, email);
    if (userId === undefined) return refuse('not_found', `Nobody has an account as ${email}.`, 'email');
    const at = new Date(deps.now());
    const { count } = await tx.account.updateMany({
      where: { userId, providerId: CREDENTIAL },
      data: { password: hash, updatedAt: at },
    });
    if (count === 0) await createCredential(tx, at, userId, hash);
    await tx.session.deleteMany({ where: { userId } });
    const members = await tx.member.findMany({ where: { userId }, select: { orgId: true } });
    const event = { action: 'member.setPassword', target: userId, details: { email } };
    await audit(
      tx,
      actor,
      deps.now(),
      members.map(({ orgId }) => ({ orgId, ...event })),
    );
    return ok(generated === undefined ? { userId, email } : { userId, email, password: generated });
  });
}

/**
 * Of two that give an account its first password, one comes after the other. The lock leaves the row to be referred to: who
 * holds an organization's members may add this one meanwhile.
 */
async function lockUser(tx: Tx, email: string): Promise<string | undefined> {
  const [user] = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM "user" WHERE email = ${email} FOR NO KEY UPDATE`;
  return user?.id;
}
