import { z } from 'zod';
import { type Actor, operatorOnly } from '../access/access.ts';
import { auditInEach } from '../access/audit.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { poolField, wholeBetween } from '../fields.ts';
import { MAX_CAPACITY } from '../models/input.ts';
import { permanentCost } from '../models/placement.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';

/** A pool of runners, and what its models share. */
export interface PoolView {
  readonly name: string;
  /** Null: there is room for all of its models. */
  readonly capacity: number | null;
  /** What always-on models take of it for good. */
  readonly permanent: number;
  /** What models take of it now. Null: it has no capacity, or its runner does not answer. */
  readonly inUse: number | null;
  /** Models that wait until there is room. Null as `inUse` is. */
  readonly waiting: number | null;
  /** Published models, of all organizations. */
  readonly models: number;
}

/** A pool whose capacity was set. */
export interface PoolChange extends PoolView {
  /** False: its runner could not be reached. It notices within half a minute of being back. */
  readonly runnerReached: boolean;
}

const setPoolInput = z.object({
  name: poolField('Name'),
  capacity: wholeBetween('Capacity', 0, MAX_CAPACITY),
});
export type SetPoolInput = z.input<typeof setPoolInput>;

/** Lists the known pools: those that have runners, models or a capacity. For operators only. */
export async function listPools(deps: ControlDeps, actor: Actor): Promise<Result<PoolView[]>> {
  const allowed = operatorOnly(actor);
  if (!allowed.ok) return allowed;
  const [rows, used] = await Promise.all([
    deps.db.runnerPool.findMany(),
    deps.db.model.groupBy({ by: ['pool'], where: { deletedAt: null } }),
  ]);
  const names = new Set([
    ...deps.runner.pools,
    ...rows.map(({ name }) => name),
    ...used.map(({ pool }) => pool),
  ]);
  return ok(await Promise.all([...names].sort().map((name) => poolView(deps, name))));
}

/**
 * Sets a pool's capacity, in any unit; 0 removes it. Its runner is told immediately. Nothing that
 * runs is stopped. For operators only.
 */
export async function setPool(
  deps: ControlDeps,
  actor: Actor,
  input: SetPoolInput,
): Promise<Result<PoolChange>> {
  const allowed = operatorOnly(actor);
  if (!allowed.ok) return allowed;
  const parsed = parseInput(setPoolInput, input);
  if (!parsed.ok) return parsed;
  const { name, capacity } = parsed.value;
  if (!(await isKnown(deps, name))) {
    const message = `Name must be a pool in RUNNER_ADDRESS (${deps.runner.pools.join(', ')}), or one that has models or a capacity.`;
    return refuse('invalid_input', message, 'name');
  }
  const permanent = await permanentCost(deps.db, name, null);
  if (capacity > 0 && capacity < permanent) {
    const message = `Capacity must be ${permanent} or more: always-on models take that much. Stop one first.`;
    return refuse('conflict', message, 'capacity');
  }
  await deps.db.$transaction((tx) => writePool(deps, tx, actor, name, capacity === 0 ? null : capacity));
  const runnerReached = await tellRunner(deps, name);
  return ok({ ...(await poolView(deps, name)), runnerReached });
}

/** Any other name may be mistyped. */
async function isKnown({ db, runner }: ControlDeps, name: string): Promise<boolean> {
  if (runner.pools.includes(name)) return true;
  const [row, model] = await Promise.all([
    db.runnerPool.findUnique({ where: { name } }),
    db.model.findFirst({ where: { pool: name, deletedAt: null }, select: { id: true } }),
  ]);
  return row !== null || model !== null;
}

/**
 * Refreshes any model of the pool, because the runner then reads the capacity, too. Where there are
 * no models, none waits for room.
 */
async function tellRunner({ db, runner }: ControlDeps, pool: string): Promise<boolean> {
  const model = await db.model.findFirst({ where: { pool, deletedAt: null }, select: { id: true } });
  if (!model) return true;
  return runner.refresh(model.id, pool).then(
    () => true,
    () => false,
  );
}

/** The organizations that have models in the pool find it in their trails, too. */
async function writePool(
  { now }: ControlDeps,
  tx: Tx,
  actor: Actor,
  name: string,
  capacity: number | null,
): Promise<void> {
  if (capacity === null) await tx.runnerPool.deleteMany({ where: { name } });
  else await tx.runnerPool.upsert({ where: { name }, create: { name, capacity }, update: { capacity } });
  const models = await tx.model.groupBy({ by: ['orgId'], where: { pool: name, deletedAt: null } });
  const event = {
    action: 'pool.set',
    target: name,
    details: { name, capacity: capacity ?? 'no limit' },
  } as const;
  const orgIds = models.map(({ orgId }) => orgId);
  await auditInEach(tx, actor, now(), orgIds, event);
}

async function poolView({ db, runner }: ControlDeps, name: string): Promise<PoolView> {
  const [row, permanent, models, room] = await Promise.all([
    db.runnerPool.findUnique({ where: { name } }),
    permanentCost(db, name, null),
    db.model.count({ where: { pool: name, deletedAt: null } }),
    runner.room(name).catch(() => null),
  ]);
  const { used: inUse = null, waiting = null } = room ?? {};
  return { name, capacity: row?.capacity ?? null, permanent, inUse, waiting, models };
}
