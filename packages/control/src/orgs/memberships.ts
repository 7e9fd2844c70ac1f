import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { Role } from '../access/policy.ts';
import { isPasswordEnough, SECOND_FACTOR } from '../access/second-factor.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField } from '../fields.ts';
import { ok, parseInput, type Result } from '../result.ts';
import type { OrgView } from './orgs.ts';

export interface MembershipView extends OrgView {
  readonly role: Role;
  /** Whether the organization is closed to members whom a password alone lets in. */
  readonly requiresTwoFactor: boolean;
  /** Whether it is closed to this user for that reason. */
  readonly lacksTwoFactor: boolean;
}

/** Lists a user's organizations, oldest first, with the user's role in each. */
export async function listMemberships(
  deps: ControlDeps,
  actor: Actor & { readonly kind: 'user' },
): Promise<Result<MembershipView[]>> {
  const members = await deps.db.member.findMany({
    where: { userId: actor.userId },
    include: {
      org: { include: { plan: { select: { name: true } } } },
      user: { select: SECOND_FACTOR },
    },
    orderBy: [{ org: { createdAt: 'asc' } }, { orgId: 'asc' }],
  });
  return ok(
    members.map(({ role, user, org: { id, slug, name, plan, requiresTwoFactor } }) => ({
      id,
      slug,
      name,
      plan: plan.name,
      role,
      requiresTwoFactor,
      lacksTwoFactor: requiresTwoFactor && isPasswordEnough(deps, user),
    })),
  );
}

const tryInput = z.object({ org: orgField });
export type TryModelInput = z.input<typeof tryInput>;

/**
 * Whether the actor may send requests from the console. The request itself needs a key, and the
 * gateway checks that.
 */
export async function tryModel(deps: ControlDeps, actor: Actor, input: TryModelInput): Promise<Result<null>> {
  const parsed = parseInput(tryInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'model.try');
  return org.ok ? ok(null) : org;
}
