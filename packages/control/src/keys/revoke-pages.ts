import type { Actor } from '../access/access.ts';
import { type AuditEntry, audit } from '../access/audit.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import type { Done } from '../result.ts';
import { removeRevoked } from './keys.ts';

/** A page key that Postgres has as revoked, and that the limiter may not know of. */
export interface RevokedPageKey {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly prefix: string;
  readonly hash: Uint8Array;
}

/**
 * Revokes the page keys of someone who may no longer make one, in the transaction that takes that
 * from them. Members of these organizations are locked, so that none is being made. Once the
 * transaction has ended, give the keys to `endRevokedPages`.
 */
export async function revokePageKeys(
  tx: Tx,
  actor: Actor,
  atMs: number,
  { userId, orgIds }: { readonly userId: string; readonly orgIds: readonly string[] },
): Promise<RevokedPageKey[]> {
  const keys = await tx.apiKey.findMany({ where: { pageUserId: userId, orgId: { in: [...orgIds] } } });
  await tx.apiKey.updateMany({
    where: { id: { in: keys.map(({ id }) => id) }, revokedAt: null },
    data: { revokedAt: new Date(atMs) },
  });
  const entries = keys
    .filter(({ revokedAt }) => revokedAt === null)
    .map(({ id, orgId, name, prefix }): AuditEntry => {
      return { orgId, action: 'key.revoke', target: id, details: { name, prefix } };
    });
  await audit(tx, actor, atMs, entries);
  return keys;
}

/**
 * Tells the limiter of revoked page keys, and deletes their rows. Once this has resolved without
 * `notInForce`, no gateway admits them.
 *
 * @param done what took the right to them from `email`
 */
export async function endRevokedPages<T>(
  deps: ControlDeps,
  actor: Actor,
  email: string,
  keys: readonly RevokedPageKey[],
  done: Done<T>,
): Promise<Done<T>> {
  let ended = done;
  for (const key of keys) {
    const removed = await removeRevoked(deps, actor, key.orgId, key);
    if (removed.ok) continue;
    const notInForce = `The change is saved. ${email} had a key of Try it. ${removed.refusal.message}`;
    ended = { ...done, notInForce };
  }
  return ended;
}
