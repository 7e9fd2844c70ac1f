import type { Context } from '../context.ts';
import type { OrgRow } from '../truth/rows.ts';
import { livesOf, type OrgWritten, writeOrg } from '../truth/seed.ts';

/**
 * Writes an organization that need not exist in Postgres, in the current life of its state. If that
 * is not the first life, the organization starts as after a loss.
 */
export async function putOrg(
  context: Context,
  org: Omit<OrgRow, 'life' | 'firstLife'>,
  firstLife = true,
): Promise<OrgWritten> {
  const life = (await livesOf(context, [org.orgId])).get(org.orgId) ?? '';
  return writeOrg(context, { ...org, life, firstLife });
}
