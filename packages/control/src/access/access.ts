import type { ControlDeps, Tx } from '../deps.ts';
import { ok, type Result, refuse } from '../result.ts';
import { type Action, POLICY, type Role } from './policy.ts';
import { lacksSecondFactor } from './second-factor.ts';

/**
 * Whoever calls an operation. An operator runs ctl on the installation's machine, as one of its
 * system users. A user is signed in to the console.
 */
export type Actor =
  | { readonly kind: 'operator'; readonly systemUser?: string }
  | { readonly kind: 'user'; readonly userId: string; readonly email: string };

/** The actor's name in the audit trail. */
export function actorName(actor: Actor): string {
  if (actor.kind === 'user') return actor.email;
  return actor.systemUser === undefined ? 'ctl' : `ctl (${actor.systemUser})`;
}

export interface OrgRef {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
}

/** An organization that the actor may act in. */
export interface Access extends OrgRef {
  /** Whether the actor may also do this in the organization. */
  may(action: Action): boolean;
}

/**
 * Finds the organization that `ref` (an id or slug) names, if the actor may do `action` there.
 * Without a `ref`, it is the actor's only organization. To a user, someone else's organization
 * looks as if it did not exist. An organization that requires a second factor lets a user without
 * one do nothing but leave.
 */
export async function access(
  deps: Pick<ControlDeps, 'passwords'> & { readonly db: Tx },
  actor: Actor,
  ref: string | undefined,
  action: Action,
): Promise<Result<Access>> {
  const orgs = await deps.db.org.findMany({
    where: {
      ...(ref === undefined ? {} : { OR: [{ id: ref }, { slug: ref }] }),
      ...(actor.kind === 'user' ? { members: { some: { userId: actor.userId } } } : {}),
    },
    select: {
      id: true,
      slug: true,
      name: true,
      requiresTwoFactor: true,
      members: { where: { userId: actor.kind === 'user' ? actor.userId : '' }, select: { role: true } },
    },
    take: 2,
  });
  const [found, another] = orgs;
  if (!found)
    return refuse(
      'not_found',
      ref ? `There is no organization "${ref}".` : 'There is no organization yet.',
      'org',
    );
  if (another)
    return refuse('invalid_input', 'There are several organizations: name one by its id or slug.', 'org');
  const { members, requiresTwoFactor, ...org } = found;
  const may = (wanted: Action) => actor.kind === 'operator' || mayDo(members[0]?.role, wanted);
  if (!may(action)) return refuse('forbidden', `Only ${namesOf(POLICY[action])} may do this.`);
  const isClosed = requiresTwoFactor && action !== 'member.leave';
  if (actor.kind === 'user' && isClosed && (await lacksSecondFactor(deps, actor.userId)))
    return refuse('forbidden', 'This organization requires a second factor: set it up in your account.');
  return ok({ ...org, may });
}

const AND = new Intl.ListFormat('en', { type: 'conjunction' });
const namesOf = (roles: readonly Role[]): string => AND.format(roles.map((role) => `${role}s`));

const mayDo = (role: Role | undefined, action: Action): boolean =>
  role !== undefined && (POLICY[action] as readonly Role[]).includes(role);

export const operatorOnly = (actor: Actor): Result<null> =>
  actor.kind === 'operator'
    ? ok(null)
    : refuse('forbidden', 'Only an operator of the installation may do this.');
