import type { Model } from '@tidegate/db';
import { type Actor, access } from '../access/access.ts';
import { type AuditAction, audit } from '../access/audit.ts';
import type { Action } from '../access/policy.ts';
import type { ConditionNow, ControlDeps } from '../deps.ts';
import { lockedAccess } from '../members/lock.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { unreached } from '../unreached.ts';
import { type ListModelsInput, listInput, type ModelInput, modelInput } from './input.ts';
import {
  activityOf,
  type DeletedModelView,
  type ListedModelView,
  type ModelChange,
  type ModelNow,
  modelView,
  publishedView,
  withReasonForAll,
} from './view.ts';

/**
 * Lists the organization's published models by name. Includes requests in flight, unless `activity`
 * is false.
 */
export async function listModels(
  deps: ControlDeps,
  actor: Actor,
  input: ListModelsInput,
): Promise<Result<ListedModelView[]>> {
  const parsed = parseInput(listInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'model.list');
  if (!org.ok) return org;
  const { id: orgId } = org.value;
  const seesAll = org.value.may('model.change');
  const [rows, activity] = await Promise.all([
    deps.db.model.findMany({ where: { orgId, deletedAt: null }, orderBy: [{ name: 'asc' }] }),
    parsed.value.activity ? deps.runner.activity(orgId).catch(() => null) : null,
  ]);
  const viewed = (row: Model) => (seesAll ? modelView(row) : withReasonForAll(modelView(row)));
  return ok(rows.map((row) => ({ ...viewed(row), ...activityOf(row, activity) })));
}

/**
 * Has the runner start the model. Resolves when the start has begun. The audit event says that the
 * start was asked for: the runner may begin it without being able to answer.
 */
export const startModel = (deps: ControlDeps, actor: Actor, input: ModelInput): Promise<Result<ModelNow>> =>
  move(deps, actor, input, 'model.start', ({ id, pool }) => deps.runner.start(id, pool));

/** Has the runner stop the model. Resolves when the stop has begun. The event is as above. */
export const stopModel = (deps: ControlDeps, actor: Actor, input: ModelInput): Promise<Result<ModelNow>> =>
  move(deps, actor, input, 'model.stop', ({ id, pool }) => deps.runner.stop(id, pool));

async function move(
  deps: ControlDeps,
  actor: Actor,
  input: ModelInput,
  action: Action & AuditAction,
  act: (model: Model) => Promise<ConditionNow>,
): Promise<Result<ModelNow>> {
  const found = await findModel(deps, actor, input, action);
  if (!found.ok) return found;
  const row = found.value;
  const { id: target, orgId, name } = row;
  const recorded = await deps.db.$transaction(async (tx): Promise<Result<null>> => {
    const still = await lockedAccess(deps, tx, actor, orgId, action);
    if (!still.ok) return still;
    await audit(tx, actor, deps.now(), [{ orgId, action, target, details: { name } }]);
    return ok(null);
  });
  if (!recorded.ok) return recorded;
  let now: ConditionNow;
  try {
    now = await act(row);
  } catch (error) {
    return refuse(
      'unavailable',
      `This is not confirmed: ${unreached('runner', error, actor)}, or it does not know the model yet. Try again when it is back.`,
    );
  }
  return ok(await modelNow(deps, row, now));
}

/**
 * Takes a model out of service. Its row stays for key lists and usage. Its name can be used again.
 */
export async function deleteModel(
  deps: ControlDeps,
  actor: Actor,
  input: ModelInput,
): Promise<Result<DeletedModelView>> {
  const found = await findModel(deps, actor, input, 'model.delete');
  if (!found.ok) return found;
  const { id, orgId, name, pool } = found.value;
  const deletedAt = new Date(deps.now());
  const deleted = await deps.db.$transaction(async (tx): Promise<Result<null>> => {
    const still = await lockedAccess(deps, tx, actor, orgId, 'model.delete');
    if (!still.ok) return still;
    const { count } = await tx.model.updateMany({ where: { id, deletedAt: null }, data: { deletedAt } });
    const event = { orgId, action: 'model.delete', target: id, details: { name } } as const;
    if (count > 0) await audit(tx, actor, deps.now(), [event]);
    return ok(null);
  });
  if (!deleted.ok) return deleted;
  const runnerReached = await tell(deps, id, pool);
  return ok({ ...publishedView(found.value), deletedAt: deletedAt.toISOString(), runnerReached });
}

export async function findModel(
  deps: ControlDeps,
  actor: Actor,
  input: ModelInput,
  action: Action,
): Promise<Result<Model>> {
  const parsed = parseInput(modelInput, input);
  if (!parsed.ok) return parsed;
  const { name } = parsed.value;
  const org = await access(deps, actor, parsed.value.org, action);
  if (!org.ok) return org;
  const row = await deps.db.model.findFirst({ where: { orgId: org.value.id, name, deletedAt: null } });
  return row ? ok(row) : refuse('not_found', `There is no published model "${name}".`, 'name');
}

/**
 * Tells the runner of a change. If it cannot be reached, the change stands: the runner reads the
 * row when it is back.
 *
 * @param pool the pool that the model belonged to before
 */
export async function tellRunner(deps: ControlDeps, row: Model, pool = row.pool): Promise<ModelChange> {
  const { runner } = deps;
  // After a move, the runner of the former pool lets go of the model first.
  const moved = pool === row.pool || (await tell(deps, row.id, pool));
  try {
    const now = await runner.refresh(row.id, row.pool);
    return { ...(await modelNow(deps, row, now)), runnerReached: moved };
  } catch {
    return { ...(await modelNow(deps, row, null)), runnerReached: false };
  }
}

/** Has the runner of a pool read a model's row again. False: it could not be reached. */
const tell = ({ runner }: ControlDeps, modelId: string, pool: string): Promise<boolean> =>
  runner.refresh(modelId, pool).then(
    () => true,
    () => false,
  );

/** @param told what its runner answered. Null: nothing */
async function modelNow({ runner }: ControlDeps, row: Model, told: ConditionNow | null): Promise<ModelNow> {
  const view = modelView(row);
  if (!told) return { ...view, replicas: null };
  const { condition, reason } = told;
  const activity = condition === 'running' ? await runner.activity(row.orgId).catch(() => null) : null;
  const { replicas } = activityOf(row, activity);
  return { ...view, condition, conditionReason: reason || null, replicas };
}
