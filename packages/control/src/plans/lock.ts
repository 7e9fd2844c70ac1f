import type { Tx } from '../deps.ts';
import { ok, type Result, refuse } from '../result.ts';

/**
 * Finds a plan by name (any case) or id and locks its row: `share` while an organization is put on it, `update` while its
 * values change. So an organization's limits version never misses a change of its plan.
 */
export async function lockPlan(
  tx: Tx,
  ref: string,
  mode: 'share' | 'update',
): Promise<Result<{ id: string; name: string }>> {
  const rows =
    mode === 'share'
      ? await tx.$queryRaw<{ id: string; name: string }[]>`
          SELECT id, name FROM plan WHERE id = ${ref} OR lower(name) = lower(${ref}) FOR SHARE`
      : await tx.$queryRaw<{ id: string; name: string }[]>`
          SELECT id, name FROM plan WHERE id = ${ref} OR lower(name) = lower(${ref}) FOR UPDATE`;
  if (rows[0]) return ok(rows[0]);
  const plans = await tx.plan.findMany({ select: { name: true }, orderBy: { position: 'asc' } });
  return refuse(
    'not_found',
    `There is no plan "${ref}". Plans: ${plans.map((plan) => plan.name).join(', ')}.`,
    'plan',
  );
}
