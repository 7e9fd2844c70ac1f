import { z } from 'zod';
import { type Actor, operatorOnly } from '../access/access.ts';
import { CREDENTIAL } from '../access/second-factor.ts';
import type { ControlDeps } from '../deps.ts';
import { endRevokedPages } from '../keys/revoke-pages.ts';
import { type Fault, ok, parseInput, type Result, refuse, refuseInput } from '../result.ts';
import { lockAccountOf } from './lock.ts';
import { type NamedAccount, type SignedOut, signOutEverywhere } from './sign-out.ts';
import { createCredential, emailField, hashedPasswordOf, passwordField } from './user.ts';
import { weakPassword } from './weak-password.ts';

/** An account with a new password. */
export interface AccountView extends NamedAccount {
  /** The generated password, if none was given. It is shown only now. */
  readonly password?: string;
}

const passwordInput = z.object({ email: emailField, password: passwordField.optional() });
export type SetPasswordInput = z.input<typeof passwordInput>;

/**
 * Sets an account's password, generated if none is given, and ends all of its sessions and page
 * keys. An account that only used the identity provider can then also sign in with the password.
 * For operators only, because an account may belong to several organizations. `notInForce`: no
 * limiter could be reached to end a page key.
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
  const weak = password === undefined ? null : await weakFor(deps, password, email);
  if (weak) return refuseInput(weak);
  const { hash, generated } = await hashedPasswordOf(deps, password);
  const set = await deps.db.$transaction(async (tx): Promise<Result<SignedOut>> => {
    // Two callers must not both create the first password.
    const userId = await lockAccountOf(tx, email);
    if (userId === undefined) return refuse('not_found', `There is no account for ${email}.`, 'email');
    const at = new Date(deps.now());
    const { count } = await tx.account.updateMany({
      where: { userId, providerId: CREDENTIAL },
      data: { password: hash, updatedAt: at },
    });
    if (count === 0) await createCredential(tx, at, userId, hash);
    return ok(await signOutEverywhere(tx, actor, deps.now(), { userId, email }, 'member.setPassword'));
  });
  if (!set.ok) return set;
  const { account, pageKeys } = set.value;
  const view = generated === undefined ? account : { ...account, password: generated };
  return endRevokedPages(deps, actor, pageKeys, ok(view));
}

/** Why a password is too weak for the account, which may have no organization. */
async function weakFor({ db }: ControlDeps, password: string, email: string): Promise<Fault | null> {
  const mine = { members: { some: { user: { email } } } };
  const orgs = await db.org.findMany({ where: mine, select: { name: true } });
  return weakPassword(password, { email, orgs: orgs.map(({ name }) => name) });
}
