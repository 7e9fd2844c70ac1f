import type { ScriptDeps } from '../script-deps.ts';
import type { OrgRow } from '../seeding/rows.ts';
import { ensureLifeNames, type OrgWritten, writeOrg } from '../seeding/seed.ts';

/**
 * Writes an organization that need not exist in Postgres, in the current life of its state. If that
 * is not the first life, the organization starts as after a loss.
 */
export async function putOrg(
  scriptDeps: ScriptDeps,
  org: Omit<OrgRow, 'life' | 'firstLife'>,
  firstLife = true,
): Promise<OrgWritten> {
  const life = (await ensureLifeNames(scriptDeps, [org.orgId])).get(org.orgId) ?? '';
  return writeOrg(scriptDeps, { ...org, life, firstLife });
}
