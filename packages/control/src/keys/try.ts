import { parseApiKey } from '@tidegate/contracts';
import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField } from '../fields.ts';
import { ok, parseInput, type Result } from '../result.ts';
import { keyStateOf } from './view.ts';

const tryInput = z.object({ org: orgField, key: z.string({ error: 'Key must be text.' }) });
export type TryKeyInput = z.input<typeof tryInput>;

/**
 * Whether the value is an Active key of the organization. The console checks this before it sends a
 * request for a user, because the API counts invalid keys against the console's address.
 */
export async function tryKey(deps: ControlDeps, actor: Actor, input: TryKeyInput): Promise<Result<boolean>> {
  const parsed = parseInput(tryInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'model.try');
  if (!org.ok) return org;
  const key = parseApiKey(parsed.value.key);
  if (!key) return ok(false);
  const row = await deps.db.apiKey.findFirst({
    where: { orgId: org.value.id, hash: Uint8Array.from(key.hash) },
    select: { revokedAt: true, expiresOn: true, expiresAt: true },
  });
  return ok(row !== null && keyStateOf(row, deps.now()) === 'Active');
}
