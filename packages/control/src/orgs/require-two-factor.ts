import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import { isPasswordEnough, lacksSecondFactor, SECOND_FACTOR } from '../access/second-factor.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { orgField } from '../fields.ts';
import { endRevokedPages, type RevokedPageKey, revokePageKeys } from '../keys/revoke-pages.ts';
import { lockedAccess } from '../members/lock.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';

const input = z.object({
  org: orgField,
  required: z.boolean({ error: 'Required must be true or false.' }),
});
export type RequireTwoFactorInput = z.input<typeof input>;

/**
 * Sets whether an organization is closed to members whom a password alone lets in. Once it is,
 * their page keys end. Other API keys are not affected. Owners need a second factor themselves
 * before they ask it of others. `notInForce`: no limiter could be reached to end a page key.
 */
export async function requireTwoFactor(
  deps: ControlDeps,
  actor: Actor,
  given: RequireTwoFactorInput,
): Promise<Result<{ readonly required: boolean }>> {
  const parsed = parseInput(input, given);
  if (!parsed.ok) return parsed;
  const { required } = parsed.value;
  const org = await access(deps, actor, parsed.value.org, 'org.requireTwoFactor');
  if (!org.ok) return org;
  if (required && actor.kind === 'user' && (await lacksSecondFactor(deps, actor.userId)))
    return refuse('conflict', 'Set up two-factor for your own account first.');
  const { id } = org.value;
  const changed = await deps.db.$transaction(async (tx): Promise<Result<RevokedPageKey[]>> => {
    const still = await lockedAccess(deps, tx, actor, id, 'org.requireTwoFactor');
    if (!still.ok) return still;
    const { count } = await tx.org.updateMany({
      where: { id, requiresTwoFactor: !required },
      data: { requiresTwoFactor: required },
    });
    const event = { orgId: id, action: 'org.requireTwoFactor', target: id, details: { required } } as const;
    if (count > 0) await audit(tx, actor, deps.now(), [event]);
    return ok(required ? await revokeKeysOfShutOut(deps, tx, actor, id) : []);
  });
  return changed.ok ? endRevokedPages(deps, actor, changed.value, ok({ required })) : changed;
}

/** Revokes the page keys of members to whom the organization is closed. Its members are locked. */
async function revokeKeysOfShutOut(
  deps: ControlDeps,
  tx: Tx,
  actor: Actor,
  orgId: string,
): Promise<RevokedPageKey[]> {
  const users = await tx.user.findMany({
    where: { pageKeys: { some: { orgId } } },
    select: { id: true, ...SECOND_FACTOR },
  });
  const userIds = users.filter((user) => isPasswordEnough(deps, user)).map(({ id }) => id);
  return revokePageKeys(tx, actor, deps.now(), { userIds, orgIds: [orgId] });
}
