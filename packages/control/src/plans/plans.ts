import { newPlanId } from '@tidegate/contracts';
import type { Plan } from '@tidegate/db';
import { eachPlanLimit, PLAN_LIMITS, type PlanLimitValues } from '@tidegate/limits';
import { z } from 'zod';
import { type Actor, access, operatorOnly } from '../access/access.ts';
import { auditInEach } from '../access/audit.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { nameField, orgField, wholeBetween } from '../fields.ts';
import { toNumber } from '../numbers.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { applyLimits } from './apply-limits.ts';
import { lockPlan } from './lock.ts';

export interface PlanView extends PlanLimitValues {
  readonly id: string;
  readonly name: string;
  readonly images: boolean;
  /** Whether owners may choose it. */
  readonly offered: boolean;
}

export { PLAN_LIMITS };
export type PlanLimitTable = typeof PLAN_LIMITS;

const values = {
  ...eachPlanLimit((_name, { label, min, max }) => wholeBetween(label, min, max)),
  images: z.boolean({ error: 'Images must be true or false.' }),
};
const allValues = z.object(values);
const setPlanInput = z.object({
  name: nameField('Name', 40),
  ...allValues.partial().shape,
  offered: z.boolean({ error: 'Offered must be true or false.' }).optional(),
});
export type SetPlanInput = z.input<typeof setPlanInput>;

const listPlansInput = z.object({ org: orgField });
export type ListPlansInput = z.input<typeof listPlansInput>;

/**
 * Lists plans in display order. Operators see all of them. Users see those that are offered, and
 * the plan of the given organization, or of all their organizations if none is given.
 */
export async function listPlans(
  deps: ControlDeps,
  actor: Actor,
  input: ListPlansInput = {},
): Promise<Result<PlanView[]>> {
  const parsed = parseInput(listPlansInput, input);
  if (!parsed.ok) return parsed;
  const { org: ref } = parsed.value;
  const org = ref === undefined ? ok(null) : await access(deps, actor, ref, 'org.read');
  if (!org.ok) return org;
  const plans = await deps.db.plan.findMany({
    where: actor.kind === 'operator' ? {} : visibleTo(actor.userId, org.value?.id),
    orderBy: [{ position: 'asc' }, { name: 'asc' }],
  });
  return ok(plans.map(planView));
}

const visibleTo = (userId: string, orgId: string | undefined) => ({
  OR: [
    { offered: true },
    { orgs: { some: { members: { some: { userId } }, ...(orgId === undefined ? {} : { id: orgId }) } } },
  ],
});

/**
 * Changes some values of a plan, or creates the plan if all limits are given. A new plan is not
 * offered unless the input says so. Resolves when the new limits are in force for all organizations
 * on the plan, or with `notInForce`. For operators only.
 */
export async function setPlan(
  deps: ControlDeps,
  actor: Actor,
  input: SetPlanInput,
): Promise<Result<PlanView>> {
  const allowed = operatorOnly(actor);
  if (!allowed.ok) return allowed;
  const parsed = parseInput(setPlanInput, input);
  if (!parsed.ok) return parsed;
  const written = await deps.db.$transaction((tx) => writePlan(deps, tx, actor, parsed.value));
  if (!written.ok) return written;
  return applyLimits(deps, actor, written.value.orgIds, written.value.plan);
}

type Written = Result<{ plan: PlanView; orgIds: string[] }>;

async function writePlan(
  deps: ControlDeps,
  tx: Tx,
  actor: Actor,
  { name, ...given }: z.output<typeof setPlanInput>,
): Promise<Written> {
  const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const existing = await lockPlan(tx, name, 'update');
  if (!existing.ok) return createPlan(deps, tx, actor, { ...given, name });
  const plan = await tx.plan.update({ where: { id: existing.value.id }, data: changes });
  const orgs = await tx.$queryRaw<{ id: string }[]>`
    WITH on_plan AS (SELECT id FROM org WHERE plan_id = ${plan.id} ORDER BY id FOR UPDATE)
    UPDATE org SET limits_version = limits_version + 1 FROM on_plan WHERE org.id = on_plan.id RETURNING org.id`;
  const orgIds = orgs.map((org) => org.id);
  const event = { action: 'plan.set', target: plan.id, details: { name: plan.name, ...changes } } as const;
  await auditInEach(tx, actor, deps.now(), orgIds, event);
  return ok({ plan: planView(plan), orgIds });
}

async function createPlan(
  { now }: ControlDeps,
  tx: Tx,
  actor: Actor,
  { name, offered = false, ...given }: z.output<typeof setPlanInput>,
): Promise<Written> {
  const complete = allValues.safeParse(given);
  if (!complete.success) {
    const all = [...Object.values(PLAN_LIMITS).map(({ label }) => label), 'Images'].join(', ');
    return refuse('not_found', `There is no plan "${name}". To create it, give all of: ${all}.`, 'name');
  }
  // The unique index tells upper case from lower case. So creations of a plan take turns.
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended('plan ' || lower(${name}), 0))::text`;
  const taken = refuse('conflict', `Someone else has just created the plan "${name}".`, 'name');
  if ((await lockPlan(tx, name, 'share')).ok) return taken;
  const last = await tx.plan.aggregate({ _max: { position: true } });
  const created = await tx.plan.createManyAndReturn({
    data: [{ id: newPlanId(), name, position: (last._max.position ?? 0) + 1, offered, ...complete.data }],
    skipDuplicates: true,
  });
  const plan = created[0];
  if (!plan) return taken;
  const details = { name, ...complete.data, offered };
  await auditInEach(tx, actor, now(), [], { action: 'plan.create', target: plan.id, details });
  return ok({ plan: planView(plan), orgIds: [] });
}

const planView = (plan: Plan): PlanView => ({
  id: plan.id,
  name: plan.name,
  ...eachPlanLimit((name) => toNumber(plan[name])),
  images: plan.images,
  offered: plan.offered,
});
