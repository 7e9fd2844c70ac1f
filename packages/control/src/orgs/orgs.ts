import { newOrgId } from '@tidegate/contracts';
import { z } from 'zod';
import { type Actor, access, operatorOnly } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { nameField, orgField, reference } from '../fields.ts';
import { lockedAccess } from '../members/lock.ts';
import { applyLimits } from '../plans/apply-limits.ts';
import { type Choosable, lockPlan } from '../plans/lock.ts';
import { ok, parseInput, type Result } from '../result.ts';
import { slugCandidate, slugOf } from './slug.ts';

export interface OrgView {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  /** The name of its plan. */
  readonly plan: string;
}

const MAX_SLUG_TRIES = 1_000;
export const DEFAULT_PLAN = 'Free';

const createOrgInput = z.object({
  name: nameField('Name', 80),
  plan: reference('Plan').default(DEFAULT_PLAN),
});
export type CreateOrgInput = z.input<typeof createOrgInput>;

/**
 * Creates an organization on a plan (default: Free). Its slug is made from its name. For operators
 * only.
 */
export async function createOrg(
  deps: ControlDeps,
  actor: Actor,
  input: CreateOrgInput,
): Promise<Result<OrgView>> {
  const allowed = operatorOnly(actor);
  if (!allowed.ok) return allowed;
  const parsed = parseInput(createOrgInput, input);
  if (!parsed.ok) return parsed;
  return deps.db.$transaction((tx) => saveOrg(tx, actor, deps.now(), parsed.value));
}

export async function saveOrg(
  tx: Tx,
  actor: Actor,
  nowMs: number,
  { name, plan: planName }: z.output<typeof createOrgInput>,
): Promise<Result<OrgView>> {
  const plan = await lockPlan(tx, planName, 'share');
  if (!plan.ok) return plan;
  const id = newOrgId();
  const slug = await insertOrg(tx, { id, name, planId: plan.value.id, createdAt: new Date(nowMs) });
  await audit(tx, actor, nowMs, [
    { orgId: id, action: 'org.create', target: id, details: { name, slug, plan: plan.value.name } },
  ]);
  return ok({ id, slug, name, plan: plan.value.name });
}

/** Takes the first free slug. Concurrent creations with the same name each get their own. */
async function insertOrg(
  tx: Tx,
  org: { id: string; name: string; planId: string; createdAt: Date },
): Promise<string> {
  const base = slugOf(org.name);
  for (let n = 1; n <= MAX_SLUG_TRIES; n++) {
    const slug = slugCandidate(base, n);
    const { count } = await tx.org.createMany({ data: [{ ...org, slug }], skipDuplicates: true });
    if (count === 1) return slug;
  }
  throw new Error(`no free slug for ${base}`);
}

/** Lists all organizations for an operator, and a user's own for a user; oldest first. */
export async function listOrgs({ db }: ControlDeps, actor: Actor): Promise<Result<OrgView[]>> {
  const orgs = await db.org.findMany({
    where: actor.kind === 'user' ? { members: { some: { userId: actor.userId } } } : {},
    include: { plan: { select: { name: true } } },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return ok(orgs.map(({ id, slug, name, plan }) => ({ id, slug, name, plan: plan.name })));
}

const setPlanInput = z.object({ org: orgField, plan: reference('Plan') });
export type SetOrgPlanInput = z.input<typeof setPlanInput>;

/**
 * Moves an organization to a plan. Users can choose only plans that are offered. Resolves when the
 * new limits are in force, or with `notInForce`.
 */
export async function setOrgPlan(
  deps: ControlDeps,
  actor: Actor,
  input: SetOrgPlanInput,
): Promise<Result<OrgView>> {
  const parsed = parseInput(setPlanInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'org.setPlan');
  if (!org.ok) return org;
  const changed = await deps.db.$transaction(async (tx): Promise<Result<OrgView>> => {
    const { slug, name } = org.value;
    // Locked before the organization, because a change of the plan takes the two locks in this
    // order.
    await lockPlan(tx, parsed.value.plan, 'share');
    const still = await lockedAccess(deps, tx, actor, org.value.id, 'org.setPlan');
    if (!still.ok) return still;
    const before = await tx.org.findUnique({ where: { id: org.value.id }, select: { plan: true } });
    const choosable: Choosable = actor.kind === 'operator' ? 'all' : { offeredOrId: before?.plan.id ?? '' };
    const plan = await lockPlan(tx, parsed.value.plan, 'share', choosable);
    if (!plan.ok) return plan;
    await tx.org.update({
      where: { id: org.value.id },
      data: { planId: plan.value.id, limitsVersion: { increment: 1 } },
    });
    await audit(tx, actor, deps.now(), [
      {
        orgId: org.value.id,
        action: 'org.setPlan',
        target: org.value.id,
        details: { plan: plan.value.name, from: before?.plan.name ?? null },
      },
    ]);
    return ok({ id: org.value.id, slug, name, plan: plan.value.name });
  });
  if (!changed.ok) return changed;
  return applyLimits(deps, actor, [org.value.id], changed.value);
}
