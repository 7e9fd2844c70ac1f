import type { Tx } from '../deps.ts';
import { ok, type Result, refuse } from '../result.ts';

/** All plans, or those that are offered and the one with this id. */
export type Choosable = 'all' | { readonly offeredOrId: string };

/**
 * Finds a plan by name (ignoring case) or id, and locks its row: `share` to put an organization on
 * it, `update` to change its values. So every change of a plan raises the limits version of all its
 * organizations. A plan that is not choosable is not found.
 */
export async function lockPlan(
  tx: Tx,
  ref: string,
  mode: 'share' | 'update',
  choosable: Choosable = 'all',
): Promise<Result<{ id: string; name: string }>> {
  type Row = { id: string; name: string; offered: boolean };
  const rows =
    mode === 'share'
      ? await tx.$queryRaw<Row[]>`
          SELECT id, name, offered FROM plan WHERE id = ${ref} OR lower(name) = lower(${ref}) FOR SHARE`
      : await tx.$queryRaw<Row[]>`
          SELECT id, name, offered FROM plan WHERE id = ${ref} OR lower(name) = lower(${ref}) FOR UPDATE`;
  const [row] = rows;
  const isChoosable = choosable === 'all' || row?.offered || row?.id === choosable.offeredOrId;
  if (row && isChoosable) return ok({ id: row.id, name: row.name });
  const plans = await tx.plan.findMany({
    where: choosable === 'all' ? {} : { OR: [{ offered: true }, { id: choosable.offeredOrId }] },
    select: { name: true },
    orderBy: { position: 'asc' },
  });
  return refuse(
    'not_found',
    `There is no plan "${ref}". Plans: ${plans.map((plan) => plan.name).join(', ')}.`,
    'plan',
  );
}
