import { LOCAL_POOL } from '@tidegate/contracts';
import type { Actor } from '../access/access.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { ok, type Result, refuse } from '../result.ts';

/**
 * The pool that a model is to run in. Machines are the operator's, so only an operator may choose.
 */
export function poolFor(
  { runner: { pools } }: ControlDeps,
  actor: Actor,
  wanted: string | undefined,
): Result<string> {
  // Without a name, the model gets this one.
  const usual = pools.includes(LOCAL_POOL) ? LOCAL_POOL : (pools[0] ?? LOCAL_POOL);
  const pool = wanted ?? usual;
  if (pool !== usual && actor.kind !== 'operator')
    return refuse('forbidden', 'Only an operator of the installation may choose a pool.', 'pool');
  if (pools.includes(pool)) return ok(pool);
  return refuse('invalid_input', `Pool must be one of those in RUNNER_ADDRESS: ${pools.join(', ')}.`, 'pool');
}

/**
 * Why a model may not move to another pool now. Null: it may. It moves only while it is stopped, so
 * that no request is cut off, or while its pool has no leader to stop it.
 */
export async function refuseMove(
  tx: Tx,
  modelId: string,
  pool: string,
): Promise<ReturnType<typeof refuse> | null> {
  const [row] = await tx.$queryRaw<{ pool: string; condition: string; led: boolean }[]>`
    SELECT pool, condition, EXISTS (
      SELECT FROM runner_lease WHERE pool = model.pool AND expires_at > clock_timestamp()
    ) AS led FROM model WHERE id = ${modelId}`;
  if (!row || row.pool === pool || row.condition === 'stopped' || !row.led) return null;
  const message = `Stop the model first: it is ${row.condition} in pool ${row.pool}.`;
  return refuse('conflict', message, 'pool');
}

/** The share of its pool that is asked for. */
interface Share {
  readonly cost?: number | undefined;
  readonly pinned?: boolean | undefined;
}

/** Why an actor may not give a model this share. Null: it may. */
export function refuseShare(actor: Actor, driver: string, { cost, pinned }: Share) {
  const field = cost === undefined ? 'pinned' : 'cost';
  if (cost === undefined && pinned === undefined) return null;
  if (actor.kind !== 'operator') {
    const message = 'Only an operator of the installation may set cost or pinned.';
    return refuse('forbidden', message, field);
  }
  if (driver !== 'external') return null;
  const message = "A model at URLs has no cost and cannot be pinned: it uses none of the pool's capacity.";
  return refuse('invalid_input', message, field);
}

/** How much of a pool its always-on models take for good. Stopped ones take nothing. */
export async function permanentCost(db: Tx, pool: string, exceptId: string | null): Promise<number> {
  const { _sum } = await db.model.aggregate({
    where: {
      pool,
      mode: 'always_on',
      deletedAt: null,
      condition: { not: 'stopped' },
      ...(exceptId === null ? {} : { id: { not: exceptId } }),
    },
    _sum: { cost: true },
  });
  return _sum.cost ?? 0;
}

/** Why a model of this cost can never run in the pool. Null: it can. */
export async function refuseTooLarge(tx: Tx, pool: string, cost: number, modelId: string | null) {
  if (cost === 0) return null;
  const row = await tx.runnerPool.findUnique({ where: { name: pool } });
  if (!row) return null;
  const permanent = await permanentCost(tx, pool, modelId);
  if (cost <= row.capacity - permanent) return null;
  const taken = permanent > 0 ? `, of which always-on models take ${permanent}` : '';
  const message = `It can never run in pool ${pool}: it needs ${cost} of a capacity of ${row.capacity}${taken}.`;
  return refuse('conflict', message, 'cost');
}
