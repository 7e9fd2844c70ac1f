import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import { lacksSecondFactor } from '../access/second-factor.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField } from '../fields.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';

const input = z.object({
  org: orgField,
  required: z.boolean({ error: 'Required must be true or false.' }),
});
export type RequireTwoFactorInput = z.input<typeof input>;

/**
 * Decides whether an organization is closed to members whom a password alone lets in. API keys are
 * not affected. Owners need a second factor themselves before they ask it of others.
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
  return deps.db.$transaction(async (tx): Promise<Result<{ required: boolean }>> => {
    const { count } = await tx.org.updateMany({
      where: { id, requiresTwoFactor: !required },
      data: { requiresTwoFactor: required },
    });
    const event = { orgId: id, action: 'org.requireTwoFactor', target: id, details: { required } } as const;
    if (count > 0) await audit(tx, actor, deps.now(), [event]);
    return ok({ required });
  });
}
