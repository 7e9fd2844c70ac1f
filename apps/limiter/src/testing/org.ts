import { newInstanceId, newKeyId } from '@tidegate/contracts';
import { joinOrg, sendHeartbeat } from '../leases/lease.ts';
import type { ScriptDeps } from '../script-deps.ts';
import type { OrgRow } from '../seeding/rows.ts';
import { ensureLifeNames, type OrgWritten, seedKey, writeOrg } from '../seeding/seed.ts';
import { ROOMY_KEY } from './fixture.ts';

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

/** Writes a key that need not exist in Postgres. Resolves to its id. */
export async function putKey(scriptDeps: ScriptDeps, orgId: string): Promise<string> {
  const keyId = newKeyId();
  const key = { ...ROOMY_KEY, hash: Buffer.alloc(32), revoked: false, expiresAtMs: 0 };
  await seedKey(scriptDeps, { ...key, keyId, orgId });
  return keyId;
}

/** Has a new gateway instance join an organization. Resolves to its id. */
export async function putInstance(scriptDeps: ScriptDeps, orgId: string): Promise<string> {
  const instanceId = newInstanceId();
  await sendHeartbeat(scriptDeps, instanceId, false);
  await joinOrg(scriptDeps, instanceId, orgId);
  return instanceId;
}
