import { newModelId, seal } from '@tidegate/contracts';
import type { StoredDriver } from '@tidegate/contracts/driver-settings';
import type { Model } from '@tidegate/db';
import { type Actor, access } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { ControlDeps } from '../deps.ts';
import { lockedAccess } from '../members/lock.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { driverOf, type PublishModelInput, type PublishSettings, publishInput } from './input.ts';
import { tellRunner } from './models.ts';
import { originOf } from './origin.ts';
import { poolFor, refuseShare, refuseTooLarge } from './placement.ts';
import { refuseServers } from './servers.ts';
import type { ModelChange } from './view.ts';
import { refuseTaken, unfitWorkload } from './workload.ts';

/**
 * Publishes a model. It starts immediately (always on) or with its first request (wake on request).
 */
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
  const unfit = await unfitWorkload(deps, actor, driver.value, pool.value, settings.anyway ?? false);
  if (unfit) return unfit;
  const refused =
    refuseShare(actor, driver.value.driver, settings) ??
    (await refuseTooLarge(deps.db, pool.value, settings.cost ?? 0, null));
  if (refused) return refused;
  const placed = { ...settings, pool: pool.value };
  const row = await insertModel(deps, actor, org.value.id, placed, driver.value);
  return row.ok ? ok(await tellRunner(deps, row.value)) : row;
}

type Placed = PublishSettings & { readonly pool: string };

async function insertModel(
  deps: ControlDeps,
  actor: Actor,
  orgId: string,
  placed: Placed,
  runs: StoredDriver,
): Promise<Result<Model>> {
  const { name, kind, mode, contextTokens, pool, upstreamKey } = placed;
  return deps.db.$transaction(async (tx): Promise<Result<Model>> => {
    const still = await lockedAccess(deps, tx, actor, orgId, 'model.publish');
    if (!still.ok) return still;
    const tooMany = await refuseServers(tx, actor, orgId, { id: null, settings: runs.settings });
    const refused = tooMany ?? (await refuseTaken(tx, runs));
    if (refused) return refused;
    const data = { ...columnsOf(deps, placed, runs), id: newModelId(), orgId };
    const [row] = await tx.model.createManyAndReturn({ data: [data], skipDuplicates: true });
    if (!row) return refuse('conflict', `A model "${name}" is already published.`, 'name');
    const details = {
      name,
      kind,
      mode,
      contextTokens,
      driver: runs.driver,
      pool,
      ...originOf(runs),
      upstreamKey: upstreamKey !== undefined,
    };
    await audit(tx, actor, deps.now(), [{ orgId, action: 'model.publish', target: row.id, details }]);
    return ok(row);
  });
}

function columnsOf(deps: ControlDeps, placed: Placed, { driver, settings }: StoredDriver) {
  const { name, kind, mode, contextTokens, sleepAfterS, pool, cost = 0, pinned = false } = placed;
  const { upstreamModel = null, upstreamKey } = placed;
  const at = new Date(deps.now());
  return {
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
    upstreamModel,
    upstreamKey: upstreamKey === undefined ? null : Uint8Array.from(seal(deps.secretKey, upstreamKey)),
    condition: mode === 'always_on' ? ('starting' as const) : ('asleep' as const),
    publishedAt: at,
    conditionAt: at,
  };
}
