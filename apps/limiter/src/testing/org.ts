import type { Context } from '../context.ts';
import type { OrgRow } from '../truth/rows.ts';
import { livesOf, type OrgWritten, writeOrg } from '../truth/seed.ts';

/** Writes an organization that Postgres need not have, in the life it has; one that is not the first begins with a loss. */
export async function putOrg(
  context: Context,
  org: Omit<OrgRow, 'life' | 'firstLife'>,
  firstLife = true,
): Promise<OrgWritten> {
  const life = (await livesOf(context, [org.orgId])).get(org.orgId) ?? '';
  return writeOrg(context, { ...org, life, firstLife });
}
