import type { Tx } from '../deps.ts';
import { ok, type Result, refuse } from '../result.ts';

/**
 * Finds a plan by name (in any case) or id, and locks its row: `share` to put an organization on
 * it, `update` to change its values. So every change of a plan raises the limits version of all its
 * organizations.
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
