import type { Actor } from '../access/access.ts';
import { type ControlDeps, type Tx, usualPool } from '../deps.ts';
import { ok, type Result, refuse } from '../result.ts';

/** Where a model is to run. Machines are the operator's, so only an operator chooses. */
export function poolFor(
  { runner: { pools } }: ControlDeps,
  actor: Actor,
  wanted: string | undefined,
): Result<string> {
  const usual = usualPool(pools);
  const pool = wanted ?? usual;
  if (pool !== usual && actor.kind !== 'operator')
    return refuse('forbidden', 'Only an operator of the installation may choose a pool.', 'pool');
  if (pools.includes(pool)) return ok(pool);
  return refuse('invalid_input', `Pool must be one of those in RUNNER_ADDRESS: ${pools.join(', ')}.`, 'pool');
}

/**
 * Why a model may not move to another pool now. It moves while it is stopped, so that no request is
 * cut off, or while no runner of its pool leads, which could stop it. Null: it may.
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
