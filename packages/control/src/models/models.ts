import { createHash } from 'node:crypto';
import { newModelId, seal } from '@tidegate/contracts';
import type { StoredDriver } from '@tidegate/contracts/driver-settings';
import type { Model } from '@tidegate/db';
import { type Actor, access } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { Action } from '../access/policy.ts';
import type { ConditionNow, ControlDeps } from '../deps.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { unreached } from '../unreached.ts';
import {
  driverOf,
  type ListModelsInput,
  listInput,
  type ModelInput,
  modelInput,
  type PublishModelInput,
  type PublishSettings,
  publishInput,
} from './input.ts';
import { poolFor, refuseShare, refuseTooLarge } from './placement.ts';
import {
  activityOf,
  type DeletedModelView,
  type ListedModelView,
  type ModelChange,
  type ModelNow,
  modelView,
  publishedView,
  withoutPrinted,
} from './view.ts';
import { unfitWorkload } from './workload.ts';

/** Publishes a model. It starts at once (always on) or with its first request (wake on request). */
export async function publishModel(
  deps: ControlDeps,
  actor: Actor,
  input: PublishModelInput,
): Promise<Result<ModelChange>> {
  const parsed = parseInput(publishInput, input);
  if (!parsed.ok) return parsed;
  const settings = parsed.value;
  const driver = driverOf(settings);
  if (!driver.ok) return driver;
  const org = await access(deps, actor, settings.org, 'model.publish');
  if (!org.ok) return org;
  // A command runs on the runner's machine. An organization's owner has no rights there.
  if (driver.value.driver === 'process' && actor.kind !== 'operator')
    return refuse('forbidden', 'Only an operator of the installation may publish a command.', 'command');
  const pool = poolFor(deps, actor, settings.pool);
  if (!pool.ok) return pool;
  const unfit = await unfitWorkload(deps, actor, driver.value, pool.value);
  if (unfit) return unfit;
  const refused =
    refuseShare(actor, driver.value.driver, settings) ??
    (await refuseTooLarge(deps.db, pool.value, settings.cost ?? 0, null));
  if (refused) return refused;
  const placed = { ...settings, pool: pool.value };
  const row = await insertModel(deps, actor, org.value.id, placed, driver.value);
  if (!row) return refuse('conflict', `A model "${settings.name}" is already published.`, 'name');
  return ok(await tellRunner(deps, row));
}

/** Null: the name is taken. */
async function insertModel(
  deps: ControlDeps,
  actor: Actor,
  orgId: string,
  {
    name,
    kind,
    mode,
    contextTokens,
    sleepAfterS,
    upstreamModel,
    upstreamKey,
    pool,
    cost = 0,
    pinned = false,
  }: PublishSettings & { readonly pool: string },
  runs: StoredDriver,
): Promise<Model | null> {
  const { driver, settings } = runs;
  const at = new Date(deps.now());
  return deps.db.$transaction(async (tx) => {
    const rows = await tx.model.createManyAndReturn({
      data: [
        {
          ...{
            id: newModelId(),
            orgId,
            name,
            kind,
            mode,
            contextTokens,
            sleepAfterS,
            driver,
            settings,
            pool,
            cost,
            pinned,
          },
          upstreamModel: upstreamModel ?? null,
          upstreamKey: upstreamKey === undefined ? null : Uint8Array.from(seal(deps.secretKey, upstreamKey)),
          condition: mode === 'always_on' ? 'starting' : 'asleep',
          publishedAt: at,
          conditionAt: at,
        },
      ],
      skipDuplicates: true,
    });
    const row = rows[0];
    if (!row) return null;
    const details = {
      ...{ name, kind, mode, contextTokens, driver, pool },
      ...originOf(runs),
      upstreamKey: upstreamKey !== undefined,
    };
    await audit(tx, actor, deps.now(), [{ orgId, action: 'model.publish', target: row.id, details }]);
    return row;
  });
}

type Origin =
  | { readonly origins: readonly string[] }
  | { readonly commandSha256: string }
  | { readonly workload: string };

/** Where it runs, for the audit trail. A URL's path and a command may hold secrets. */
export function originOf({ driver, settings }: StoredDriver): Origin {
  switch (driver) {
    case 'external':
      return { origins: [...new Set(settings.urls.map((url) => new URL(url).origin))] };
    case 'process':
      return { commandSha256: createHash('sha256').update(settings.command).digest('hex') };
    case 'kubernetes':
      return { workload: `${settings.namespace}/${settings.kind}/${settings.name}` };
  }
}

/**
 * Lists the organization's published models by name. With requests in flight, unless `activity` is
 * false.
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
  const viewed = (row: Model) => (seesAll ? modelView(row) : withoutPrinted(modelView(row)));
  return ok(rows.map((row) => ({ ...viewed(row), ...activityOf(row, activity) })));
}

/** Has the runner start the model. Resolves when the start has begun. */
export const startModel = (deps: ControlDeps, actor: Actor, input: ModelInput): Promise<Result<ModelNow>> =>
  move(deps, actor, input, 'model.start', ({ id, pool }) => deps.runner.start(id, pool));

/** Has the runner stop the model. Resolves when the stop has begun. */
export const stopModel = (deps: ControlDeps, actor: Actor, input: ModelInput): Promise<Result<ModelNow>> =>
  move(deps, actor, input, 'model.stop', ({ id, pool }) => deps.runner.stop(id, pool));

async function move(
  deps: ControlDeps,
  actor: Actor,
  input: ModelInput,
  action: Action,
  act: (model: Model) => Promise<ConditionNow>,
): Promise<Result<ModelNow>> {
  const found = await findModel(deps, actor, input, action);
  if (!found.ok) return found;
  const row = found.value;
  let now: ConditionNow;
  try {
    now = await act(row);
  } catch (error) {
    return refuse(
      'unavailable',
      `This is not confirmed: ${unreached('runner', error, actor)}, or it does not know the model yet. Try again when it is back.`,
    );
  }
  const { id: target, orgId, name } = row;
  await deps.db.$transaction((tx) =>
    audit(tx, actor, deps.now(), [{ orgId, action, target, details: { name } }]),
  );
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
  await deps.db.$transaction(async (tx) => {
    const { count } = await tx.model.updateMany({ where: { id, deletedAt: null }, data: { deletedAt } });
    if (count === 0) return;
    await audit(tx, actor, deps.now(), [{ orgId, action: 'model.delete', target: id, details: { name } }]);
  });
  const runnerTold = await deps.runner.refresh(id, pool).then(
    () => true,
    () => false,
  );
  return ok({ ...publishedView(found.value), deletedAt: deletedAt.toISOString(), runnerTold });
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
  const moved =
    pool === row.pool ||
    (await runner.refresh(row.id, pool).then(
      () => true,
      () => false,
    ));
  try {
    const now = await runner.refresh(row.id, row.pool);
    return { ...(await modelNow(deps, row, now)), runnerTold: moved };
  } catch {
    return { ...(await modelNow(deps, row, null)), runnerTold: false };
  }
}

/** @param told what its runner answered. Null: nothing */
async function modelNow({ runner }: ControlDeps, row: Model, told: ConditionNow | null): Promise<ModelNow> {
  const view = modelView(row);
  if (!told) return { ...view, replicas: null };
  const { condition, reason } = told;
  const activity = condition === 'running' ? await runner.activity(row.orgId).catch(() => null) : null;
  const { replicas } = activityOf(row, activity);
  return { ...view, condition, conditionReason: reason || null, replicas };
}
